"""The figures of an estimate: what a job needs by itself, and what becomes of it on each placement."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.reserves import AnyReserves
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.cache import CacheKind
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.notice import Notice, Scalar
from cardmatch.engine.terms.units import Bytes, Count, SignedBytes, TokenCount


class CacheRow(msgspec.Struct, frozen=True, kw_only=True):
    """What alike layers cache, before any engine rounds or splits it."""

    kind: CacheKind
    layers: Annotated[int, Meta(ge=1, le=4096)]
    window_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=10**9)] | None, Meta(description="Tokens kept at most; null keeps all.")
    ]
    bytes_per_token: Bytes
    bytes_per_sequence: Annotated[Bytes, Meta(description="Bytes per request that do not grow with its length.")]


class KvCache(msgspec.Struct, frozen=True, kw_only=True):
    """The cache of one request, by kind of layer, over all GPUs."""

    format: Annotated[str, Meta(description="Number format of the cache.")]
    bytes_per_token: Annotated[Bytes, Meta(description="For each further token while no window is full.")]
    by_layer: tuple[CacheRow, ...]


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs whatever the engine and the card: the sum over all GPUs, copies not counted."""

    weights_bytes: Bytes
    kv_cache_bytes: Annotated[Bytes, Meta(description="For all concurrent requests at their mean length.")]
    recurrent_state_bytes: Bytes
    adapters_bytes: Bytes = 0


class PerGpu(msgspec.Struct, frozen=True, kw_only=True):
    """The fullest GPU of a placement; the parts add up to `total.expected_bytes`."""

    weights_bytes: Bytes
    kv_cache_bytes: Annotated[Bytes, Meta(description="Cache of all concurrent requests, as the engine rounds it.")]
    recurrent_state_bytes: Bytes
    activations_bytes: Bytes
    overhead_bytes: Annotated[Bytes, Meta(description="Contexts, communication buffers, captured graphs.")]
    total: Band


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One field of the request, set to another value."""

    pointer: Annotated[str, Meta(description="JSON Pointer into the request.")]
    value: Annotated[Scalar | None, Meta(description="Null leaves the field out.")]


class WayToFit(msgspec.Struct, frozen=True, kw_only=True):
    """The fewest changes of one sort that would make the job run, and what it would then be."""

    changes: tuple[Change, ...]
    verdict: Verdict
    headroom_bytes: SignedBytes
    message: str = ""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What the job takes of the machine's own memory."""

    ram_bytes: Bytes


class PlacementEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the job on one choice of cards."""

    card: Annotated[str | None, Meta(description="Catalogue id; null where the request stated only the memory.")]
    count: Count
    layout: Layout
    mig: str | None
    verdict: Verdict
    bound_by: Annotated[str, Meta(description="The pool of the engine that is fullest, or that does not hold.")]
    per_gpu: PerGpu
    budget_bytes: Annotated[Bytes, Meta(description="What the engine may fill on each GPU.")]
    physical_bytes: Annotated[Bytes, Meta(description="Memory of each GPU as nvidia-smi lists it.")]
    headroom_bytes: Annotated[SignedBytes, Meta(description="Budget less total; negative where that much is missing.")]
    engine_reserves: AnyReserves
    host: Host
    max_context_tokens: Annotated[
        TokenCount, Meta(description="The longest request that runs alone; 0 where none fits.")
    ]
    max_concurrency: Annotated[
        TokenCount, Meta(description="Requests of mean length that run at once; 0 where the longest does not fit.")
    ]
    command: Annotated[
        str | None, Meta(description="Starts the engine with the length that the verdict assumes; null for a library.")
    ] = None
    ways_to_fit: tuple[WayToFit, ...] = ()
    explanation: Annotated[
        tuple[Explanation, ...] | None, Meta(description="Line by line, where the request asks for it.")
    ] = None
    notices: tuple[Notice, ...] = ()
