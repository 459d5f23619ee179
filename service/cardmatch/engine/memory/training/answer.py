"""The figures of a training estimate: what the job needs by itself, and what becomes of it on each placement."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Host, WayToFit
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.training.peak import Moment
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.parameters import ParameterCounts
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.notice import Assumption, Notice
from cardmatch.engine.terms.units import Bytes, Count, Parameters, SignedBytes, TokenCount


class TrainingNeed(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs whatever the card: one copy, sharded over nothing, offload left aside.

    Adapters are counted in the weights too.
    """

    weights_bytes: Bytes
    gradients_bytes: Bytes
    optimizer_bytes: Bytes
    adapters_bytes: Bytes
    activations_bytes: Annotated[Bytes, Meta(description="Kept from forward to backward for one micro-batch.")]
    trainable_parameters: Parameters


class TrainingPerGpu(msgspec.Struct, frozen=True, kw_only=True):
    """The fullest GPU at the peak; the parts add up to `total.expected_bytes`."""

    weights_bytes: Annotated[Bytes, Meta(description="With what is gathered of sharded weights.")]
    gradients_bytes: Bytes
    optimizer_bytes: Bytes
    activations_bytes: Annotated[Bytes, Meta(description="Activations, logits and the step's temporaries.")]
    overhead_bytes: Annotated[Bytes, Meta(description="Allocator slack, CUDA context, NCCL buffers.")]
    total: Band


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of the training step on the fullest GPU; the parts add up to `allocated_bytes`."""

    phase: Moment
    weights_bytes: Bytes
    gradients_bytes: Bytes
    optimizer_bytes: Bytes
    activations_bytes: Bytes
    logits_bytes: Bytes
    temporaries_bytes: Bytes
    allocated_bytes: Bytes


class Peaks(msgspec.Struct, frozen=True, kw_only=True):
    """The peak as three counters read it: PyTorch's allocated and reserved, and nvidia-smi's for the process."""

    allocated: Band
    reserved: Band
    process: Band


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """How the data become steps: sequences and tokens of one optimizer step over all GPUs; null without `data`."""

    sequences_per_step: Annotated[int, Meta(ge=1, le=10**12)]
    tokens_per_step: TokenCount
    steps: Annotated[int, Meta(ge=1, le=10**15)] | None
    train_tokens: Annotated[int, Meta(ge=1, le=10**18)] | None


class TrainingPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the job on one choice of cards."""

    card: Annotated[str | None, Meta(description="Catalogue id; null where the request stated only the memory.")]
    count: Count
    layout: Layout
    mig: str | None
    sharding: Sharding
    verdict: Verdict
    bound_by: Annotated[Moment, Meta(description="The moment of the step at which memory peaks.")]
    per_gpu: TrainingPerGpu
    peaks: Peaks
    phases: tuple[Phase, ...]
    budget_bytes: Annotated[Bytes, Meta(description="What CUDA sees of each GPU, less what is occupied.")]
    physical_bytes: Annotated[Bytes, Meta(description="Memory of each GPU as nvidia-smi lists it.")]
    headroom_bytes: Annotated[SignedBytes, Meta(description="Budget less total; negative where that much is missing.")]
    host: Host
    max_micro_batch: Annotated[TokenCount, Meta(description="Largest at this length; 0 where not even one fits.")]
    max_sequence_tokens: Annotated[TokenCount, Meta(description="Longest at this micro-batch; 0 where none fits.")]
    schedule: Schedule
    ways_to_fit: tuple[WayToFit, ...] = ()
    explanation: Annotated[
        tuple[Explanation, ...] | None, Meta(description="Line by line, where the request asks for it.")
    ] = None
    notices: tuple[Notice, ...] = ()


class TrainingEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of an estimate, before any words."""

    parameters: ParameterCounts
    need: TrainingNeed
    rule_of_thumb_bytes: int
    placements: tuple[TrainingPlacement, ...]
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]
    sequence_tokens: int
    micro_batch: int
