"""Defaults, and the assumptions that name them."""

from __future__ import annotations

from typing import Any

from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.training.frameworks import CrossEntropy
from cardmatch.engine.memory.training.recipes import OPTIMIZERS, RECIPES, OptimizerName, Precision
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.memory.training.workload import Checkpointing
from cardmatch.engine.models.checkpoint import Checkpoint, Stored, plain
from cardmatch.engine.models.linears import PartKind
from tests.engine.memory.architectures import GPT_OSS_120B, LLAMA_8B
from tests.engine.memory.training.shapes import LLAMA_2_7B, job, workload


def test_the_documented_defaults_are_filled_in_and_named() -> None:
    """bf16, 2048 tokens, micro-batch 1, full checkpointing, AdamW, flash attention, rank 16 on all linear layers."""
    settled, assumptions = settle(workload("lora"), LLAMA_8B, plain())
    assert (settled.sequence_tokens, settled.micro_batch, settled.checkpointing) == (2048, 1, Checkpointing.FULL)
    assert settled.recipe is RECIPES[Precision.BF16]
    assert settled.optimizer is OPTIMIZERS[OptimizerName.ADAMW]
    named = {assumption.pointer: assumption.value for assumption in assumptions}
    assert named == {
        "/workload/precision": "bf16",
        "/workload/optimizer": "adamw",
        "/workload/sequence_tokens": 2048,
        "/workload/micro_batch": 1,
        "/workload/attention": "flash",
        "/workload/kernels": "eager",
        "/workload/gradient_checkpointing": "full",
        "/workload/fused_loss": False,
        "/workload/packing": True,
        "/workload/fused_optimizer": True,
        "/workload/lora/rank": 16,
        "/workload/lora/targets": "all_linear",
    }


def test_a_given_field_is_no_assumption() -> None:
    """Only what the request left out is echoed."""
    _, assumptions = settle(workload("full", precision="fp32", micro_batch=2), LLAMA_8B, plain())
    assert {"/workload/precision", "/workload/micro_batch"}.isdisjoint(each.pointer for each in assumptions)


def test_qlora_quantises_to_nf4_and_pages_its_optimizer() -> None:
    """QLoRA §3: NF4 with double quantisation, paged 8-bit Adam."""
    settled, assumptions = settle(workload("qlora"), LLAMA_8B, plain())
    assert settled.checkpoint.format == "nf4_dq"
    assert settled.optimizer is OPTIMIZERS[OptimizerName.PAGED_ADAMW_8BIT]
    assert any(each.pointer == "/workload/weights" and each.value == "nf4_dq" for each in assumptions)


def test_qlora_takes_a_quantised_checkpoint_as_it_is() -> None:
    """Adapters over GPTQ weights need no second quantisation."""
    gptq = Checkpoint(format="gptq_int4", stored=(Stored(part=PartKind.DENSE, format="gptq_int4", bits=4.15625),))
    assert settle(workload("qlora"), LLAMA_8B, gptq)[0].checkpoint == gptq


def test_lora_widens_weights_that_were_published_quantised() -> None:
    """Axolotl trains gpt-oss in 16 bits: MXFP4 experts are unpacked when they are loaded."""
    mxfp4 = Checkpoint(format="mxfp4", stored=(Stored(part=PartKind.EXPERTS, format="mxfp4", bits=4.25),))
    assert settle(workload("lora"), GPT_OSS_120B, mxfp4)[0].checkpoint.format == "bf16"


def test_bitsandbytes_leaves_experts_in_one_tensor_alone() -> None:
    """Axolotl's report: without quantising fused 3-D experts QLoRA reserves 127 GiB instead of 23."""
    left, done = (
        sum(part.bytes for part in job(GPT_OSS_120B, "qlora", framework=framework).parts)
        for framework in ("trl", "axolotl")
    )
    assert left > 3 * done


def test_sequences_are_no_longer_than_the_model() -> None:
    """The default stops at the model's own limit."""
    short = settle(workload("full"), LLAMA_2_7B, plain())[0]
    assert short.sequence_tokens == 2048
    assert job(LLAMA_2_7B, "full", sequence_tokens=4096).sequence_tokens == 4096


def test_frameworks_bring_their_habits() -> None:
    """Torchtitan trains fp32 shards, Megatron-LM a master copy, Unsloth fuses the loss with the head."""
    assert job(LLAMA_8B, "full", framework="torchtitan").recipe is RECIPES[Precision.MIXED_BF16]
    assert job(LLAMA_8B, "full", framework="megatron").recipe.master == 4
    assert job(LLAMA_8B, "lora", framework="unsloth").cross_entropy is CrossEntropy.LINEAR
    assert job(LLAMA_8B, "full", framework="deepspeed").default_sharding == "zero3"


def test_experts_in_one_tensor_are_neither_quantised_nor_adapted() -> None:
    """Transformers 5 holds Qwen3-30B-A3B's experts in one tensor a layer; axolotl's report: 127 GiB, not 23."""
    row = bundled().models["Qwen/Qwen3-30B-A3B"]

    def held(**fields: Any) -> tuple[int, int]:
        made = settle(workload("qlora", **fields), row.architecture, row.checkpoint)[0]
        return sum(part.bytes for part in made.parts), made.adapters.parameters

    (whole, few), (packed, many) = held(), held(fused_experts=False)
    assert whole > 55 * 2**30 > 3 * packed
    assert many > 10 * few
    assert held(framework="axolotl") == (packed, many)


def test_a_frozen_base_is_held_as_stated() -> None:
    """LoRA leaves its base alone, so the base may be wider or narrower than what is trained."""
    for precision, weights in (("bf16", "fp32"), ("mixed_bf16", "bf16"), ("fp32", "fp16")):
        assert job(LLAMA_8B, "lora", precision=precision, weights=weights).checkpoint.format == weights
