"""Training libraries as data: what each does when its user says nothing, and the habits that cost memory."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cardmatch.engine.memory.training.recipes import OptimizerName, Precision


class Framework(StrEnum):
    """A training library."""

    TRANSFORMERS = "transformers"
    PEFT = "peft"
    TRL = "trl"
    AXOLOTL = "axolotl"
    UNSLOTH = "unsloth"
    LLAMA_FACTORY = "llama_factory"
    MS_SWIFT = "ms_swift"
    TORCHTUNE = "torchtune"
    TORCHTITAN = "torchtitan"
    LITGPT = "litgpt"
    FSDP_QLORA = "fsdp_qlora"
    DEEPSPEED = "deepspeed"
    MEGATRON = "megatron"


class Kernels(StrEnum):
    """How norms, activations and rotary embeddings run: op by op, compiled, or fused by hand (Liger, Unsloth)."""

    EAGER = "eager"
    COMPILED = "compiled"
    FUSED = "fused"


class CrossEntropy(StrEnum):
    """How the loss is computed.

    `eager`: logits and fp32 copies of them in full. `kernel`: one fused kernel over full logits. `chunked`: 16-bit
    logits in full, the loss in chunks. `linear`: fused with the head, logits never exist in full.
    """

    EAGER = "eager"
    KERNEL = "kernel"
    CHUNKED = "chunked"
    LINEAR = "linear"


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """One framework's defaults and habits.

    `fused_cross_entropy` is what its users get who turn on a fused loss. `adapter_bytes` per adapter weight.
    `upcasts` casts what QLoRA does not quantise to fp32. `fused_optimizer` spares the foreach step's copy.
    `root_apart` shards embedding and head as units of their own. `reduce_bytes` of gradients on the wire.
    `keeps_quantised_inputs`: its bitsandbytes version keeps the inputs of frozen 4-bit matrices.
    `quantises_experts`: reaches routed experts, fused or not. `offloads_checkpoints`: its gradient checkpointing keeps
    the checkpoints in host memory. `gradient_bytes` overrides the recipe with a master copy.
    """

    source: str
    kernels: Kernels = Kernels.EAGER
    cross_entropy: CrossEntropy = CrossEntropy.EAGER
    fused_cross_entropy: CrossEntropy = CrossEntropy.LINEAR
    adapter_bytes: int = 4
    upcasts: bool = False
    fused_optimizer: bool = False
    root_apart: bool = False
    reduce_bytes: int = 2
    keeps_quantised_inputs: bool = False
    quantises_experts: bool = False
    offloads_checkpoints: bool = False
    selective_keeps_all_but_scores: bool = False
    gradient_bytes: int | None = None
    gradient_accumulation_steps: int = 1
    precision: Precision = Precision.BF16
    optimizer: OptimizerName = OptimizerName.ADAMW
    sharding: str = "fsdp"


_TRAINER = "transformers Trainer 5: adamw_torch_fused, loss upcast to fp32"
FRAMEWORKS: dict[Framework, Behaviour] = {
    Framework.TRANSFORMERS: Behaviour(source=_TRAINER, upcasts=True, fused_optimizer=True),
    Framework.PEFT: Behaviour(
        source="peft autocast_adapter_dtype: fp32 adapters; prepare_model_for_kbit_training upcasts",
        upcasts=True,
        fused_optimizer=True,
    ),
    Framework.TRL: Behaviour(source="trl SFTTrainer over the Trainer; bf16 base kept as loaded", fused_optimizer=True),
    Framework.AXOLOTL: Behaviour(
        source="axolotl: norms and embeddings cast back to the compute type; Liger and CCE plugins",
        kernels=Kernels.FUSED,
        fused_optimizer=True,
        reduce_bytes=4,
        quantises_experts=True,
    ),
    Framework.UNSLOTH: Behaviour(
        source="unsloth: fused norms, rotary, LoRA MLP; cross-entropy in chunks; checkpoints offloaded to RAM; DDP",
        kernels=Kernels.FUSED,
        cross_entropy=CrossEntropy.LINEAR,
        quantises_experts=True,
        offloads_checkpoints=True,
        optimizer=OptimizerName.ADAMW_8BIT,
        sharding="ddp",
    ),
    Framework.LLAMA_FACTORY: Behaviour(
        source="LLaMA-Factory over the Trainer and PEFT", upcasts=True, fused_optimizer=True
    ),
    Framework.MS_SWIFT: Behaviour(source="ms-swift over the Trainer and PEFT", upcasts=True, fused_optimizer=True),
    Framework.TORCHTUNE: Behaviour(
        source="torchtune recipes: fused AdamW, adapters in the model's type, embeddings and head sharded apart",
        cross_entropy=CrossEntropy.CHUNKED,
        fused_cross_entropy=CrossEntropy.CHUNKED,
        adapter_bytes=2,
        fused_optimizer=True,
        root_apart=True,
    ),
    Framework.TORCHTITAN: Behaviour(
        source="torchtitan: FSDP2 over fp32 shards, bf16 compute, fp32 reduction, fused AdamW",
        adapter_bytes=4,
        fused_optimizer=True,
        reduce_bytes=4,
        precision=Precision.MIXED_BF16,
    ),
    Framework.LITGPT: Behaviour(
        source="litgpt: bf16-true, bitsandbytes 0.42, global batch accumulated over micro-batches",
        adapter_bytes=2,
        keeps_quantised_inputs=True,
        quantises_experts=True,
        gradient_accumulation_steps=8,
    ),
    Framework.FSDP_QLORA: Behaviour(
        source="AnswerDotAI fsdp_qlora: adapters in bf16; transformers 4", adapter_bytes=2, quantises_experts=True
    ),
    Framework.DEEPSPEED: Behaviour(
        source="DeepSpeed bf16 engine: fp32 master and states",
        fused_optimizer=True,
        precision=Precision.BF16_FP32_MASTER,
        sharding="zero3",
    ),
    Framework.MEGATRON: Behaviour(
        source="Megatron-LM dist_optimizer.md: bf16 weights, fp32 gradients and master; vocabulary-parallel fused loss",
        kernels=Kernels.FUSED,
        cross_entropy=CrossEntropy.KERNEL,
        fused_cross_entropy=CrossEntropy.KERNEL,
        fused_optimizer=True,
        reduce_bytes=4,
        gradient_bytes=4,
        selective_keeps_all_but_scores=True,
        precision=Precision.BF16_FP32_MASTER,
        sharding="zero1",
    ),
}
GENERIC = FRAMEWORKS[Framework.TRL]
"""Where the request names no framework: the Trainer with PEFT, the most common way to fine-tune."""
