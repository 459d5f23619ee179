"""SGLang's pools: tokens of full layers, tokens of layers with a window, and slots of recurrent state."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.engines.sglang.options import Sglang, StateDtype
from cardmatch.engine.memory.engines.sglang.settle import Settled
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.rank_cache import packed, rank_token_bytes, state_page_bytes
from cardmatch.engine.models.architecture import StateDtypes
from cardmatch.engine.models.cache import CacheKind, CacheRow
from cardmatch.engine.models.kv_formats import KvCache

_SLOTS_PER_REQUEST = 3
"""Source: sglang v0.5.23 MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO: its own, and two that prefixes keep."""


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
    rest = max(rest, 0)
    kv_cache = packed(job.cache_rows, job.kv_cache)
    states = [row for row in rows if row.kind in {CacheKind.LINEAR, CacheKind.MAMBA}]
    windows = [row for row in rows if row.kind in {CacheKind.SLIDING, CacheKind.CHUNKED}]
    every = [row for row in rows if row.kind in {CacheKind.FULL, CacheKind.MLA, CacheKind.INDEXER}]
    slot = sum(row.layers * state_page_bytes(row, _dtypes(job, options), settled.tensor) for row in states)
    slots = _slots(options, rest, slot)
    state_bytes = (slots + 1) * slot if slot else 0
    full = _rate(every, kv_cache, settled.tensor)
    windowed = _rate(windows, kv_cache, settled.tensor)
    share = options.swa_full_tokens_ratio if every else 1.0
    drafted = _rate(list(drafts), kv_cache, settled.tensor)
    cell = full + share * windowed + drafted
    tokens = int((rest - state_bytes) // cell) if cell else 0
    if options.max_total_tokens is not None:
        tokens = min(tokens, options.max_total_tokens)
    tokens = max(tokens, 0) // settled.page_tokens * settled.page_tokens
    held = int(tokens * share) // settled.page_tokens * settled.page_tokens if windowed else 0
    per_request = 1 if options.disable_radix_cache else _SLOTS_PER_REQUEST
    terms = (
        (CacheTerm(bytes_per_token=full + drafted, block_tokens=settled.page_tokens),) if full else (),
        _window_terms(windows, kv_cache, settled),
        (CacheTerm(fixed_bytes=per_request * slot, state_bytes=per_request * slot),) if slot else (),
    )
    fixed = _source_terms(rows, kv_cache, settled)
    return Pools(
        full=terms[0] + fixed,
        sliding=terms[1],
        states=terms[2],
        whole=CacheLayout(terms=terms[0] + terms[1] + terms[2] + fixed),
        tokens=tokens,
        kv_bytes=int(tokens * full + held * windowed),
        sliding_tokens=held,
        sliding_bytes=int(held * windowed),
        state_bytes=state_bytes,
        state_slots=slots,
        slots_per_request=per_request,
    )


def _slots(options: Sglang, rest: int, slot: int) -> int:
    if not slot:
        return 0
    if options.max_mamba_cache_size is not None:
        return options.max_mamba_cache_size
    if options.disable_radix_cache and options.max_running_requests is not None:
        return options.max_running_requests
    ratio = options.mamba_full_memory_ratio
    return max(0, int(rest * ratio / (1 + ratio)) // slot - 1)


def _rate(rows: list[CacheRow], kv_cache: KvCache, tensor: int) -> int:
    """Bytes of one token over all layers of *rows*."""
    return sum(row.layers * rank_token_bytes(row, kv_cache, tensor) // row.tokens_per_entry for row in rows)


def _window_terms(rows: list[CacheRow], kv_cache: KvCache, settled: Settled) -> tuple[CacheTerm, ...]:
    """A request holds its window, and the chunk that it is prefilled in."""
    return tuple(
        CacheTerm(
            bytes_per_token=row.layers * rank_token_bytes(row, kv_cache, settled.tensor),
            block_tokens=settled.page_tokens,
            cap_tokens=row.window_tokens,
            flight_tokens=settled.chunk_tokens,
            spare_blocks=1,
        )
        for row in rows
    )


def _source_terms(rows: tuple[CacheRow, ...], kv_cache: KvCache, settled: Settled) -> tuple[CacheTerm, ...]:
    return tuple(
        CacheTerm(fixed_bytes=row.layers * row.fixed_tokens * rank_token_bytes(row, kv_cache, settled.tensor))
        for row in rows
        if row.fixed_tokens is not None
    )


def _dtypes(job: ServingJob, options: Sglang) -> StateDtypes:
    own = job.architecture.state
    if options.mamba_ssm_dtype is None:
        return own
    size = 4 if options.mamba_ssm_dtype is StateDtype.FLOAT32 else 2
    return StateDtypes(convolution_bytes=own.convolution_bytes, recurrent_bytes=size)
