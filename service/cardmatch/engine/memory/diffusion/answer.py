"""The figures of a diffusion estimate: what the pipeline needs by itself, and what becomes of it on each placement."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Host, WayToFit
from cardmatch.engine.memory.diffusion.curves import PhaseName
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.training.answer import Peaks
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.band import Band, Basis
from cardmatch.engine.terms.notice import Assumption, Notice
from cardmatch.engine.terms.units import Bytes, Count, Parameters, SignedBytes

PixelCount = Annotated[int, Meta(ge=0, le=16_384)]


class ComponentNeed(msgspec.Struct, frozen=True, kw_only=True):
    """One component: its size, the format that it is held in, and how sure its facts are."""

    name: str
    part: Annotated[str, Meta(description="unet, transformer, text_encoder, autoencoder or extra.")]
    parameters: Parameters
    format: str
    weights_bytes: Bytes
    basis: Basis


class DiffusionNeed(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs whatever the card, offload left aside."""

    weights_bytes: Annotated[Bytes, Meta(description="All components in their formats.")]
    components: tuple[ComponentNeed, ...]
    activations_bytes: Annotated[Bytes, Meta(description="Of the phase in which they are most.")]
    gradients_bytes: Bytes
    optimizer_bytes: Bytes
    trainable_parameters: Parameters


class DiffusionPhase(msgspec.Struct, frozen=True, kw_only=True):
    """What lies on the GPU in one phase; the parts add up to `allocated_bytes`. Training counts states as weights."""

    phase: PhaseName
    weights_bytes: Annotated[Bytes, Meta(description="Components on the GPU; in training, optimizer states too.")]
    gradients_bytes: Bytes
    activations_bytes: Bytes
    allocated_bytes: Bytes


class DiffusionPerGpu(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU at the peak; the parts add up to `total.expected_bytes`."""

    weights_bytes: Annotated[Bytes, Meta(description="Components on the GPU; in training, optimizer states too.")]
    gradients_bytes: Bytes
    activations_bytes: Bytes
    overhead_bytes: Annotated[Bytes, Meta(description="Allocator slack and CUDA context.")]
    total: Band


class Makeable(msgspec.Struct, frozen=True, kw_only=True):
    """The most of each that still runs with everything else as asked; 0 where none does."""

    batch: Annotated[int, Meta(ge=0, le=4096)]
    width_pixels: Annotated[PixelCount, Meta(description="Of the largest picture of the same proportions.")]
    height_pixels: PixelCount
    frames: Annotated[Annotated[int, Meta(ge=0, le=4096)] | None, Meta(description="Null for image models.")]


class DiffusionPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the job on one choice of cards; of several GPUs each runs a copy."""

    card: Annotated[str | None, Meta(description="Catalogue id; null where the request stated only the memory.")]
    count: Count
    layout: Layout
    mig: str | None
    verdict: Verdict
    bound_by: Annotated[PhaseName, Meta(description="The phase in which memory peaks.")]
    per_gpu: DiffusionPerGpu
    peaks: Peaks
    phases: tuple[DiffusionPhase, ...]
    budget_bytes: Annotated[Bytes, Meta(description="What CUDA sees of each GPU, less what is occupied.")]
    physical_bytes: Annotated[Bytes, Meta(description="Memory of each GPU as nvidia-smi lists it.")]
    headroom_bytes: Annotated[SignedBytes, Meta(description="Budget less total; negative where that much is missing.")]
    host: Host
    largest: Makeable
    ways_to_fit: tuple[WayToFit, ...] = ()
    explanation: Annotated[
        tuple[Explanation, ...] | None, Meta(description="Line by line, where the request asks for it.")
    ] = None
    notices: tuple[Notice, ...] = ()


class DiffusionEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of an estimate, before any words. A process takes at least *least_bytes* of a GPU."""

    parameters: int
    need: DiffusionNeed
    least_bytes: int
    placements: tuple[DiffusionPlacement, ...]
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]
    batch: int
    width_pixels: int
    height_pixels: int
    frames: int
