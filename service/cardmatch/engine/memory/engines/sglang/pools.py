"""SGLang's pools: tokens of full layers, tokens of layers with a window, and slots of recurrent state."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.engines.sglang.options import Sglang, SglangStateDtype
from cardmatch.engine.memory.engines.sglang.settle import Settled
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.rank_cache import rank_token_bytes, state_page_bytes
from cardmatch.engine.models.architecture import StateDtypes
from cardmatch.engine.models.cache import CacheKind, CacheRow

_SLOTS_PER_REQUEST = 3
"""Source: sglang v0.5.23 MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO: its own, and two that prefixes keep."""


_EVERY = frozenset({CacheKind.FULL, CacheKind.MLA, CacheKind.INDEXER})
_WINDOWS = frozenset({CacheKind.SLIDING, CacheKind.CHUNKED})
_STATES = frozenset({CacheKind.LINEAR, CacheKind.MAMBA})


class Pools(NamedTuple):
    """Bytes and terms of each pool. `whole` is what a request takes of all of them together."""

    full: tuple[CacheTerm, ...]
    sliding: tuple[CacheTerm, ...]
    states: tuple[CacheTerm, ...]
    whole: CacheLayout
    tokens: int
    kv_bytes: int
    sliding_tokens: int
    sliding_bytes: int
    state_bytes: int
    state_slots: int
    slots_per_request: int


def pools(
    rows: tuple[CacheRow, ...],
    drafts: tuple[CacheRow, ...],
    job: ServingJob,
    options: Sglang,
    settled: Settled,
    rest: int,
) -> Pools:
    """Divide *rest* bytes, what the weights leave of the static share, among the pools of *rows*.

    The cache of *drafts*, a drafter's layers, is as long as the full pool, and printed apart.
    States first: `mamba_full_memory_ratio` to one; then full and sliding tokens, `swa_full_tokens_ratio` apart.
    Source: sglang v0.5.23 srt/mem_cache/kv_cache_configurator.py, srt/model_executor/pool_configurator.py.
    """
    rates = _rates(rows, drafts, settled)
    slot = _slot_bytes(rows, job, options, settled)
    slots = _slots(options, max(rest, 0), slot)
    state_bytes = (slots + 1) * slot if slot else 0
    page = settled.page_tokens
    share = options.swa_full_tokens_ratio if rates.full else 1.0
    cell = rates.full + rates.drafted + share * rates.windowed
    tokens = max(0, int((rest - state_bytes) // cell)) if cell else 0
    tokens = min(tokens, options.max_total_tokens or tokens) // page * page
    held = int(tokens * share) // page * page if rates.windowed else 0
    per_request = 1 if options.disable_radix_cache else _SLOTS_PER_REQUEST
    full = _full_terms(rows, rates, settled)
    sliding = _window_terms(rows, settled)
    states = (CacheTerm(fixed_bytes=per_request * slot, state_bytes=per_request * slot),) if slot else ()
    return Pools(
        full=full,
        sliding=sliding,
        states=states,
        whole=CacheLayout(terms=full + sliding + states),
        tokens=tokens,
        kv_bytes=tokens * rates.full + held * rates.windowed,
        sliding_tokens=held,
        sliding_bytes=held * rates.windowed,
        state_bytes=state_bytes,
        state_slots=slots,
        slots_per_request=per_request,
    )


class _Rates(NamedTuple):
    """Bytes of a token over all layers that keep every token, over those with a window, and over a drafter's."""

    full: int
    windowed: int
    drafted: int


def _rates(rows: tuple[CacheRow, ...], drafts: tuple[CacheRow, ...], settled: Settled) -> _Rates:

    def rate(of: tuple[CacheRow, ...], kinds: frozenset[CacheKind]) -> int:
        each = [(row, rank_token_bytes(row, settled.kv_cache, settled.tensor)) for row in of if row.kind in kinds]
        return sum(row.layers * size // row.tokens_per_entry for row, size in each)

    return _Rates(rate(rows, _EVERY), rate(rows, _WINDOWS), rate(drafts, _EVERY | _WINDOWS))


def _slot_bytes(rows: tuple[CacheRow, ...], job: ServingJob, options: Sglang, settled: Settled) -> int:
    """Recurrent state of one sequence over all layers."""
    dtypes = _dtypes(job, options)
    return sum(row.layers * state_page_bytes(row, dtypes, settled.tensor) for row in rows if row.kind in _STATES)


def _slots(options: Sglang, rest: int, slot: int) -> int:
    if not slot:
        return 0
    if options.max_mamba_cache_size is not None:
        return options.max_mamba_cache_size
    if options.disable_radix_cache and options.max_running_requests is not None:
        return options.max_running_requests
    ratio = options.mamba_full_memory_ratio
    return max(0, int(rest * ratio / (1 + ratio)) // slot - 1)


def _full_terms(rows: tuple[CacheRow, ...], rates: _Rates, settled: Settled) -> tuple[CacheTerm, ...]:
    """Layers that keep every token, with a drafter's beside them, and what cross attention keeps of its source."""
    full = CacheTerm(bytes_per_token=rates.full + rates.drafted, block_tokens=settled.page_tokens)
    sources = tuple(
        CacheTerm(fixed_bytes=row.layers * row.fixed_tokens * rank_token_bytes(row, settled.kv_cache, settled.tensor))
        for row in rows
        if row.fixed_tokens is not None
    )
    return (full, *sources) if rates.full + rates.drafted else sources


def _window_terms(rows: tuple[CacheRow, ...], settled: Settled) -> tuple[CacheTerm, ...]:
    """A request holds its window, and the chunk that it is prefilled in."""
    return tuple(
        CacheTerm(
            bytes_per_token=row.layers * rank_token_bytes(row, settled.kv_cache, settled.tensor),
            block_tokens=settled.page_tokens,
            cap_tokens=row.window_tokens,
            flight_tokens=settled.chunk_tokens,
            spare_blocks=1,
        )
        for row in rows
        if row.kind in _WINDOWS
    )


def _dtypes(job: ServingJob, options: Sglang) -> StateDtypes:
    own = job.architecture.state
    if options.mamba_ssm_dtype is None:
        return own
    size = 4 if options.mamba_ssm_dtype is SglangStateDtype.FLOAT32 else 2
    return StateDtypes(convolution_bytes=own.convolution_bytes, recurrent_bytes=size)
