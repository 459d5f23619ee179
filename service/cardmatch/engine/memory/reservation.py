"""What an engine sets aside on one GPU: the common shape that every engine module fills in."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.bands import fitted_band
from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.calibration import Fitted
from cardmatch.engine.memory.engines.reserves import AnyReserves
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.notice import Notice


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the memory with a budget of its own, and what lies in it before any request: the fixed parts.

    `cache` is what a request takes of this pool, where an engine keeps kinds of layers in pools of their own;
    otherwise the reservation's cache, or nothing where `holds_cache` is false.
    """

    name: str
    budget_bytes: int
    fixed_expected_bytes: int
    fixed_high_bytes: int
    holds_cache: bool = True
    cache: CacheLayout | None = None


class Working(msgspec.Struct, frozen=True, kw_only=True):
    """Activations that grow with requests: *fitted* × (linear · prompt + square · prompt²) for each at once.

    Without *prompt_tokens* half of a request is prompt.
    """

    fitted: Fitted
    linear: float
    square: float = 0.0
    prompt_tokens: int | None = None

    def band(self, requests: int, tokens: int) -> Band:
        """What *requests* of *tokens* each take while they are prefilled together."""
        prompt = self.prompt_tokens or max(1, tokens // 2)
        return fitted_band(self.fitted, requests * prompt * (self.linear + self.square * prompt))


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What lies on the fullest GPU of a placement, and how requests fill the rest.

    `longest_tokens` is the engine's maximum length of one request, `most_requests` how many it ever runs at once (per
    data-parallel copy), `copies` how many caches share the requests beyond the layout's (attention data parallelism),
    `budget_bytes` what it may fill in all. `reserves` are the figures that the engine's own log will print, as a struct
    of the engine's module. `resident_cache_bytes` and `resident_state_bytes` are allocated whatever requests come
    (llama.cpp's slots); pools count them as fixed. `offloaded`: a part computes in RAM.
    `noise_low_bytes` and `noise_high_bytes` are what runs of one setup differ by. `max_context_tokens` is given where
    more than the cache grows with a request. `allocates_longest`: a request's cache is as long as the longest's.
    `working`: `activations`, where they are those of the requests that run, not of a batch that the engine plans for.
    """

    weights: Band
    activations: Band
    overhead: Band
    cache: CacheLayout
    pools: tuple[Pool, ...]
    longest_tokens: int
    most_requests: int
    budget_bytes: int
    reserves: AnyReserves
    host_ram_bytes: int = 0
    resident_cache_bytes: int = 0
    resident_state_bytes: int = 0
    offloaded: bool = False
    copies: int = 1
    noise_low_bytes: int = 0
    noise_high_bytes: int = 0
    max_context_tokens: int | None = None
    allocates_longest: bool = False
    working: Working | None = None
    notices: tuple[Notice, ...] = ()
