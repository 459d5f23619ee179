"""A serving job with every name resolved and every default filled in."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.memory.speculation import Adapters, Speculative
from cardmatch.engine.memory.weights import WeightSums
from cardmatch.engine.memory.widths import Width
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.cache import CacheRow
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.kv_formats import KvCache
from cardmatch.engine.terms.band import Basis


class Shared(dict[Any, Any]):
    """Work that placements of one request share; it is no part of what a job is, so all are equal."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shared)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, Shared)


class Drafter(msgspec.Struct, frozen=True, kw_only=True):
    """A model of its own that drafts tokens."""

    sums: WeightSums
    cache_rows: tuple[CacheRow, ...]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How far the models that a bare size may mean lie from the one that stands for them: ratios to its figures."""

    weights_low: float
    weights_high: float
    cache_low: float
    cache_high: float


class ServingJob(msgspec.Struct, frozen=True, kw_only=True):
    """What engines reserve memory for.

    `sums` are the weights as the checkpoint holds them, `widths` what activations are multiples of.
    `automatic_cache` says that the cache's format was left to the engine. `longest_possible_tokens` is the model's own
    limit, or the asked length where that is longer. `basis` is how sure the model's facts are: exact, or rule_of_thumb
    for a bare size, whose models *spread*. Placements share work through `shared`: keys name everything that a value
    was made from, so that a changed job may keep it.
    """

    architecture: Architecture
    checkpoint: Checkpoint
    sums: WeightSums
    widths: tuple[Width, ...]
    cache_rows: tuple[CacheRow, ...]
    kv_cache: KvCache
    automatic_cache: bool
    context_tokens: int
    concurrency: int
    mean_tokens: int
    shared_prefix_tokens: int
    longest_possible_tokens: int
    speculative: Speculative | None = None
    adapters: Adapters | None = None
    drafter: Drafter | None = None
    basis: Basis = Basis.EXACT
    spread: Spread | None = None
    shared: Shared = msgspec.field(default_factory=Shared)
