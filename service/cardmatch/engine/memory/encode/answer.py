"""The figures of an encoding estimate: what the job needs by itself, and what becomes of it on each placement."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import WayToFit
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.parameters import ParameterCounts
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.notice import Assumption, Notice
from cardmatch.engine.terms.units import Bytes, Count, SignedBytes, TokenCount


class EncodeNeed(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs whatever the card. Only speech has a cache: of the decoder, for every hypothesis."""

    weights_bytes: Bytes
    kv_cache_bytes: Bytes
    activations_bytes: Bytes
    windows: Annotated[int, Meta(ge=0, le=10**9, description="Windows that the audio is cut into; 0 for texts.")]


class EncodePerGpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU; the parts add up to `total.expected_bytes`."""

    weights_bytes: Bytes
    kv_cache_bytes: Bytes
    activations_bytes: Bytes
    overhead_bytes: Annotated[Bytes, Meta(description="Allocator slack and CUDA context.")]
    total: Band


class EncodePlacement(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the job on one choice of cards; of several GPUs each runs a copy."""

    card: Annotated[str | None, Meta(description="Catalogue id; null where the request stated only the memory.")]
    count: Count
    layout: Layout
    mig: str | None
    verdict: Verdict
    per_gpu: EncodePerGpu
    budget_bytes: Annotated[Bytes, Meta(description="What CUDA sees of each GPU, less what is occupied.")]
    physical_bytes: Annotated[Bytes, Meta(description="Memory of each GPU as nvidia-smi lists it.")]
    headroom_bytes: Annotated[SignedBytes, Meta(description="Budget less total; negative where that much is missing.")]
    max_batch: Annotated[TokenCount, Meta(description="Largest at this length; 0 where not even one fits.")]
    max_sequence_tokens: Annotated[TokenCount, Meta(description="Longest at this batch; the window's, for speech.")]
    ways_to_fit: tuple[WayToFit, ...] = ()
    explanation: Annotated[
        tuple[Explanation, ...] | None, Meta(description="Line by line, where the request asks for it.")
    ] = None
    notices: tuple[Notice, ...] = ()


class EncodeEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of an estimate, before any words."""

    parameters: ParameterCounts
    need: EncodeNeed
    placements: tuple[EncodePlacement, ...]
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]
    batch: int
    sequence_tokens: int
