"""From the training workload as asked to the job with every default filled in, and the list of what was assumed."""

from __future__ import annotations

from cardmatch.engine.memory.job import Spread
from cardmatch.engine.memory.training.adapters import NO_ADAPTERS, Adapters
from cardmatch.engine.memory.training.checks import check
from cardmatch.engine.memory.training.choices import Choices, assumed, brings_kernel
from cardmatch.engine.memory.training.frameworks import FRAMEWORKS, GENERIC, Behaviour, CrossEntropy, Kernels
from cardmatch.engine.memory.training.fused_experts import EXPERTS_IN_ONE_TENSOR
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.recipes import OPTIMIZERS, RECIPES, OptimizerName, Precision, Recipe
from cardmatch.engine.memory.training.shape import added, saved_layers, trainable_parts
from cardmatch.engine.memory.training.style import Style
from cardmatch.engine.memory.training.workload import (
    AttentionKernel,
    Checkpointing,
    Lora,
    Method,
    Offload,
    Sharding,
    Training,
)
from cardmatch.engine.models.architecture import Architecture, Dense
from cardmatch.engine.models.checkpoint import Checkpoint, plain, requantised
from cardmatch.engine.models.formats import DTYPE_BITS, Dtype
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.notice import Assumption

DEFAULT_SEQUENCE_TOKENS = 2048
DEFAULT_QUANTISED = "nf4_dq"
BITSANDBYTES = frozenset({"nf4", "nf4_dq", "int8"})
DEQUANTISED = frozenset({"mxfp4", "mxfp8", "nvfp4", "fp8_block"})
"""Formats that transformers widens before it trains: quantizer_mxfp4.py and quantizer_finegrained_fp8.py,
`is_trainable` false."""
TRAINED_WITH_DROPOUT = frozenset({"bert", "roberta", "xlm-roberta", "gpt2", "gpt_bigcode", "t5", "deberta-v2"})
"""Families whose transformers class drops hidden states and attention (0.1) unless told otherwise."""


def settle(
    workload: Training,
    architecture: Architecture,
    checkpoint: Checkpoint,
    spread: Spread | None = None,
) -> tuple[TrainingJob, tuple[Assumption, ...]]:
    """The job that *workload* means for a model, and what was assumed. Raises Invalid with pointers into /workload.

    *spread* is given for a bare size.
    """
    check(workload, checkpoint)
    chosen = _choose(workload, architecture, checkpoint)
    recipe = RECIPES[chosen.precision]
    stored = _stored(workload, architecture, checkpoint, chosen, recipe)
    extra = _added(architecture, chosen)
    quantised = workload.method is not Method.FULL and stored.format not in DTYPE_BITS
    style = _style(architecture, chosen, recipe, extra, quantised=quantised)
    job = TrainingJob(
        workload=workload,
        architecture=architecture,
        published=checkpoint,
        checkpoint=stored,
        parts=trainable_parts(architecture, stored),
        behaviour=chosen.behaviour,
        recipe=recipe,
        optimizer=OPTIMIZERS[chosen.optimizer],
        adapters=extra,
        layers=saved_layers(architecture, style),
        style=style,
        precision=chosen.precision,
        attention=chosen.attention,
        checkpointing=chosen.checkpointing,
        cross_entropy=chosen.cross_entropy,
        eager=chosen.kernels is Kernels.EAGER,
        sequence_tokens=chosen.sequence_tokens,
        micro_batch=chosen.micro_batch,
        accumulation=chosen.accumulation,
        upcast=_upcasts(chosen, quantised=quantised),
        quantised=quantised,
        experts=chosen.experts,
        default_sharding=Sharding(chosen.behaviour.sharding),
        offload=_offload(workload, chosen),
        spread=spread,
    )
    return job, assumed(job, chosen)


def _added(architecture: Architecture, chosen: Choices) -> Adapters:
    if chosen.lora is None:
        return NO_ADAPTERS
    return added(architecture, chosen.lora, experts=chosen.experts)


def _choose(workload: Training, architecture: Architecture, checkpoint: Checkpoint) -> Choices:
    behaviour = GENERIC if workload.framework is None else FRAMEWORKS[workload.framework]
    limit = architecture.maximum_context_tokens or DEFAULT_SEQUENCE_TOKENS
    lora = None if workload.method is Method.FULL else workload.lora or Lora()
    optimizer = behaviour.optimizer
    if workload.method is Method.QLORA and optimizer is OptimizerName.ADAMW:
        optimizer = OptimizerName.PAGED_ADAMW_8BIT
    return Choices(
        behaviour=behaviour,
        precision=workload.precision or behaviour.precision,
        optimizer=workload.optimizer or optimizer,
        sequence_tokens=workload.sequence_tokens or min(DEFAULT_SEQUENCE_TOKENS, limit),
        micro_batch=workload.micro_batch or 1,
        accumulation=_accumulation(workload, behaviour),
        checkpointing=workload.gradient_checkpointing or Checkpointing.FULL,
        attention=workload.attention or AttentionKernel.FLASH,
        kernels=workload.kernels or behaviour.kernels,
        cross_entropy=_cross_entropy(workload, behaviour),
        lora=lora,
        weights=_weights(workload, checkpoint),
        upcast=behaviour.upcasts if workload.upcast_embeddings is None else workload.upcast_embeddings,
        experts=behaviour.quantises_experts or not _fused(workload, architecture),
    )


def _fused(workload: Training, architecture: Architecture) -> bool:
    """Whether the experts of a layer are one tensor."""
    stated = workload.fused_experts
    return architecture.family in EXPERTS_IN_ONE_TENSOR if stated is None else stated


def _accumulation(workload: Training, behaviour: Behaviour) -> int:
    if workload.optimizer_in_backward:
        return 1
    return workload.gradient_accumulation_steps or behaviour.gradient_accumulation_steps


def _cross_entropy(workload: Training, behaviour: Behaviour) -> CrossEntropy:
    if workload.fused_loss:
        return behaviour.fused_cross_entropy
    if brings_kernel(workload, behaviour):
        return CrossEntropy.KERNEL
    return behaviour.cross_entropy if workload.fused_loss is None else CrossEntropy.EAGER


def _weights(workload: Training, checkpoint: Checkpoint) -> str:
    """The format of a frozen base: QLoRA quantises to NF4 what no library trains over, and takes the rest as it is."""
    if workload.weights != "as_published":
        return workload.weights
    if workload.method is Method.QLORA and (checkpoint.format in DTYPE_BITS or checkpoint.format in DEQUANTISED):
        return DEFAULT_QUANTISED
    return checkpoint.format


def _stored(
    workload: Training, architecture: Architecture, checkpoint: Checkpoint, chosen: Choices, recipe: Recipe
) -> Checkpoint:
    """How the weights lie in memory; LoRA over a 16-bit base widens what was published quantised (MXFP4, FP8)."""
    sixteen = Dtype.FP16 if chosen.precision is Precision.FP16 else Dtype.BF16
    base = Dtype.FP32 if recipe.weight == 4 else sixteen
    if workload.method is Method.LORA and workload.weights in DTYPE_BITS:
        return plain(Dtype(workload.weights))
    if workload.method is Method.FULL or chosen.weights in DTYPE_BITS:
        return plain(base)
    if workload.method is Method.LORA and workload.weights == "as_published":
        return plain(base)
    try:
        stored = requantised(architecture, checkpoint, chosen.weights)
    except Invalid as wrong:
        raise wrong.under("/workload/weights") from None
    if chosen.weights in BITSANDBYTES and not chosen.experts:
        kept = tuple(each for each in stored.stored if each.part is not PartKind.EXPERTS)
        return Checkpoint(format=stored.format, base=sixteen, stored=kept)
    return stored


def _style(architecture: Architecture, chosen: Choices, recipe: Recipe, added: Adapters, *, quantised: bool) -> Style:
    sixteen_bit = recipe.compute == 2
    fp32_stream = recipe.autocast or _upcasts(chosen, quantised=quantised) or not sixteen_bit
    upcast_scores = recipe.autocast or not _plain_softmax(architecture)
    return Style(
        compute=recipe.compute,
        residual=4 if fp32_stream else 2,
        fused=chosen.kernels is Kernels.FUSED,
        eager=chosen.kernels is Kernels.EAGER,
        trained=chosen.lora is None,
        adapted=added.roles,
        all_inputs=quantised and chosen.behaviour.keeps_quantised_inputs,
        expanded=chosen.attention is not AttentionKernel.FLASH,
        scores=chosen.attention is AttentionKernel.EAGER,
        score_bytes=recipe.compute + (4 if sixteen_bit and upcast_scores else 0),
        dropout=architecture.family in TRAINED_WITH_DROPOUT,
    )


def _offload(workload: Training, chosen: Choices) -> frozenset[Offload]:
    """What was asked for, and the checkpoints where the framework's own checkpointing moves them."""
    moved = chosen.behaviour.offloads_checkpoints and chosen.checkpointing is Checkpointing.FULL
    return frozenset(workload.offload) | ({Offload.ACTIVATIONS} if moved else frozenset())


def _upcasts(chosen: Choices, *, quantised: bool) -> bool:
    """Peft's prepare_model_for_kbit_training widens what bitsandbytes leaves alone; GPTQ and others it skips."""
    return chosen.upcast and quantised and chosen.weights in BITSANDBYTES


def _plain_softmax(architecture: Architecture) -> bool:
    """GPT-like blocks (no gated feed-forward) take the softmax in the compute type; Llama-like ones upcast it."""
    blocks = (block for group in architecture.layer_groups for block in group.blocks)
    return any(isinstance(block, Dense) and not block.gated for block in blocks)
