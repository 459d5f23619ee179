"""Weights, gradients and optimizer states against the tables of the papers that define them."""

from __future__ import annotations

import pytest

from cardmatch.engine.memory.training.held import Held, held
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.states import States, states
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.units import GB, GIB
from tests.engine.memory.architectures import GPT_OSS_120B, LLAMA_8B, LLAMA_70B
from tests.engine.memory.training.shapes import LLAMA_2_7B, LLAMA_3_2_3B, job

ZERO_MODEL = Held(trunk=7.5e9, trunk_bytes=15e9, layer=7.5e9 / 48, layer_bytes=15e9 / 48)


@pytest.mark.parametrize(
    ("sharding", "gigabytes"),
    [(Sharding.NONE, 120), (Sharding.ZERO1, 31.4), (Sharding.ZERO2, 16.6), (Sharding.ZERO3, 1.9)],
)
def test_states_of_7_5_billion_parameters_over_64_gpus_are_those_of_the_zero_paper(
    sharding: Sharding, gigabytes: float
) -> None:
    """Figure 1 of arXiv 1910.02054: mixed-precision Adam, K = 12."""
    spread = Mesh(data=64, sharding=sharding, shards=1 if sharding is Sharding.NONE else 64)
    made = states(job(LLAMA_2_7B, "full", precision="bf16_fp32_master"), spread, ZERO_MODEL)
    assert (made.weights + made.gradients + made.optimizer) / GB == pytest.approx(gigabytes, abs=0.05)


@pytest.mark.parametrize(
    ("precision", "framework", "bytes_per_parameter"),
    [("bf16", None, 8), ("fp32", None, 16), ("mixed_bf16", None, 16), ("bf16_fp32_master", "megatron", 18)],
)
def test_recipes_take_their_published_bytes_per_parameter(
    precision: str, framework: str | None, bytes_per_parameter: float
) -> None:
    """Pure 16-bit training keeps 8 bytes, fp32 and autocast 16, Megatron-LM's bf16 with fp32 gradients 18."""
    trained = job(LLAMA_8B, "full", precision=precision, framework=framework)
    made = states(trained, Mesh(), held(trained, Mesh(), first=True, last=True))
    total = made.weights + made.gradients + made.optimizer
    assert total / parameters(LLAMA_8B).total == pytest.approx(bytes_per_parameter, rel=1e-6)


@pytest.mark.parametrize(("optimizer", "gibibytes"), [("adamw", 50.2), ("adamw_8bit", 37.7), ("adamw_4bit", 31.4)])
def test_optimizers_shrink_llama_2_7b_as_torchao_measured(optimizer: str, gibibytes: float) -> None:
    """Torchao's table of low-bit optimizers: 51.6, 39.3 and 33.2 GB of peak over 8, 6 and 5 bytes per parameter."""
    trained = job(LLAMA_2_7B, "full", optimizer=optimizer)
    made = states(trained, Mesh(), held(trained, Mesh(), first=True, last=True))
    assert (made.weights + made.gradients + made.optimizer) / GIB == pytest.approx(gibibytes, rel=0.03)


def test_double_quantisation_saves_0_373_bits_a_weight() -> None:
    """QLoRA (arXiv 2305.14314) §3: NF4 with double quantisation takes 4.127 bits, without it 4.5."""
    sizes = []
    for weights in ("nf4", "nf4_dq"):
        trained = job(LLAMA_70B, "qlora", weights=weights, upcast_embeddings=False)
        sizes.append(held(trained, Mesh(), first=True, last=True).trunk_bytes)
    linear = sum(part.elements for part in job(LLAMA_70B, "qlora").parts if part.kind in {"attention", "dense"})
    assert (sizes[0] - sizes[1]) * 8 / linear == pytest.approx(0.373, abs=5e-4)
    small = sum(part.bytes for part in job(LLAMA_70B, "qlora").parts if part.kind == "small" and part.group is not None)
    assert (sizes[1] - small) * 8 / linear == pytest.approx(4.127, abs=5e-4)


def test_the_foreach_step_copies_all_parameters() -> None:
    """torch.optim.AdamW without `fused`: one more parameter-sized temporary; measured on Qwen-7B, 73.4 to 57.5 GiB."""
    slow, fast = (
        states(
            trained := job(LLAMA_8B, "full", fused_optimizer=fused),
            Mesh(),
            held(trained, Mesh(), first=True, last=True),
        )
        for fused in (False, True)
    )
    assert slow.step_temporary == slow.weights
    assert fast.step_temporary == 0


def test_an_optimizer_in_the_backward_pass_holds_one_gradient_at_a_time() -> None:
    """Torchtune's ladder: the column of gradients goes, but the largest one, that of the embedding, stays."""
    trained = job(LLAMA_3_2_3B, "full", optimizer_in_backward=True)
    made = states(trained, Mesh(), held(trained, Mesh(), first=True, last=True))
    assert made.gradients == 2 * 128256 * 3072


def test_offloaded_states_lie_in_host_memory() -> None:
    """Nothing is lost on the way: what leaves the GPU arrives in the machine's memory."""
    here = job(LLAMA_8B, "full")
    away = job(LLAMA_8B, "full", offload=["optimizer", "parameters"])
    at, gone = (states(each, Mesh(), held(each, Mesh(), first=True, last=True)) for each in (here, away))
    assert gone.weights == gone.gradients == gone.optimizer == 0
    assert gone.host == at.weights + at.gradients + at.optimizer


def test_saved_modules_are_trained_whole() -> None:
    """LoRA with modules_to_save=[embed_tokens, lm_head] trains 2 × vocabulary × hidden parameters more."""
    both = job(LLAMA_8B, "lora", lora={"modules_to_save": ["embed_tokens", "lm_head"]})
    assert both.adapters.saved_parameters == 2 * 128256 * 4096
    tied = job(LLAMA_3_2_3B, "lora", lora={"modules_to_save": ["embed_tokens", "lm_head"]})
    assert tied.adapters.saved_parameters == 128256 * 3072


def _states(spread: Mesh) -> States:
    trained = job(GPT_OSS_120B, "full", precision="bf16_fp32_master")
    return states(trained, spread, held(trained, spread, first=True, last=True))


def test_expert_ranks_divide_the_experts_once() -> None:
    """Megatron-LM: experts over eight ranks are sharded over an eighth of the copies; fully sharded nothing changes."""
    plain, expert = (_states(Mesh(data=64, expert=each, sharding=Sharding.FSDP, shards=64)) for each in (1, 8))
    assert expert.weights == pytest.approx(plain.weights)
    assert expert.optimizer == pytest.approx(plain.optimizer)


def test_unsharded_weights_shrink_by_the_expert_ranks() -> None:
    """ZeRO-1 keeps whole weights, but of the experts only those of its own rank; states stay those of a shard."""
    plain, expert = (_states(Mesh(data=64, expert=each, sharding=Sharding.ZERO1, shards=64)) for each in (1, 8))
    routed = parameters(GPT_OSS_120B).routed_experts
    assert plain.weights - expert.weights == pytest.approx(2 * routed * 7 / 8)
    assert expert.optimizer == pytest.approx(plain.optimizer)


def test_plain_sgd_needs_nothing_beside_the_gradients() -> None:
    """The foreach step of torch.optim.SGD adds in place: there is no copy of the parameters, fused or not."""
    for optimizer in ("sgd", "sgd_momentum"):
        trained = job(LLAMA_8B, "full", optimizer=optimizer, fused_optimizer=False)
        assert states(trained, Mesh(), held(trained, Mesh(), first=True, last=True)).step_temporary == 0
