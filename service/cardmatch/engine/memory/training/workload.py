"""The workload of training a language model, as the request states it; what it leaves out has documented defaults."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.training.frameworks import Framework, Kernels
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.models.formats import WeightFormat
from cardmatch.engine.terms.units import Tokens

Rank = Annotated[int, Meta(ge=1, le=8192)]
Ranks = Annotated[int, Meta(ge=1, le=4096)]
MicroBatch = Annotated[int, Meta(ge=1, le=65_536, description="Sequences in one forward pass of one GPU.")]
ModuleName = Annotated[str, Meta(min_length=1, max_length=80, examples=["q_proj", "all_linear"])]


class Method(StrEnum):
    """What is trained: every weight, or low-rank adapters over frozen weights (QLoRA: quantised ones)."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"


class Checkpointing(StrEnum):
    """Which activations are recomputed in the backward pass instead of kept."""

    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


class AttentionKernel(StrEnum):
    """How attention is computed: with the scores in memory, PyTorch's fused kernel, or FlashAttention."""

    EAGER = "eager"
    SDPA = "sdpa"
    FLASH = "flash"


class Sharding(StrEnum):
    """What data-parallel ranks keep of weights, gradients and optimizer states.

    `none` and `ddp` keep all of them; `hsdp` shards within `shard_group` GPUs and copies between groups.
    """

    NONE = "none"
    DDP = "ddp"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    FSDP = "fsdp"
    HSDP = "hsdp"


class Offload(StrEnum):
    """What lies in host memory between its uses. Offloaded parameters take their gradients along."""

    OPTIMIZER = "optimizer"
    PARAMETERS = "parameters"
    ACTIVATIONS = "activations"


class SavedModule(StrEnum):
    """Modules that LoRA trains whole beside the adapters."""

    EMBEDDING = "embed_tokens"
    HEAD = "lm_head"


class Lora(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The adapters. `targets` are names of the model's matrices, or `all_linear`, `attention`, `mlp`."""

    rank: Rank = 16
    targets: Annotated[tuple[ModuleName, ...], Meta(min_length=1, max_length=64)] = ("all_linear",)
    modules_to_save: Annotated[tuple[SavedModule, ...], Meta(max_length=2)] = ()


class TrainingData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much is trained on; steps and tokens follow from it."""

    examples: Annotated[int, Meta(ge=1, le=10**11)]
    mean_tokens_per_example: Tokens
    epochs: Annotated[float, Meta(gt=0, le=10_000)] = 1.0


class Training(msgspec.Struct, tag="training", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Training or fine-tuning a language model.

    `framework` is a preset: it stands for the defaults and habits of a training library. `weights` is the format of
    the frozen base (LoRA, QLoRA). `packing: false` says that sequences differ in length up to `sequence_tokens`.
    Pipeline, tensor and expert ranks are the card choice's `layout`; `context_parallel` splits each sequence.
    """

    method: Method
    framework: Framework | None = None
    precision: Precision | None = None
    weights: WeightFormat = "as_published"
    optimizer: OptimizerName | None = None
    fused_optimizer: Annotated[
        bool | None, Meta(description="One kernel for the step; the foreach step of AdamW copies all parameters.")
    ] = None
    optimizer_in_backward: bool = False
    sequence_tokens: Tokens | None = None
    micro_batch: MicroBatch | None = None
    gradient_accumulation_steps: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    packing: bool | None = None
    gradient_checkpointing: Checkpointing | None = None
    attention: AttentionKernel | None = None
    kernels: Kernels | None = None
    fused_loss: bool | None = None
    lora: Lora | None = None
    upcast_embeddings: Annotated[
        bool | None, Meta(description="QLoRA: embeddings, head and norms in fp32, as PEFT's k-bit preparation does.")
    ] = None
    fused_experts: Annotated[
        bool | None,
        Meta(
            description="Whether the experts of a layer are one tensor, which bitsandbytes does not quantise and LoRA "
            "does not wrap, as in transformers 5; false for transformers 4."
        ),
    ] = None
    sharding: Sharding | None = None
    shard_group: Annotated[Ranks | None, Meta(description="GPUs that share one copy of the weights (hsdp).")] = None
    context_parallel: Ranks = 1
    offload: Annotated[tuple[Offload, ...], Meta(max_length=3)] = ()
    data: TrainingData | None = None
