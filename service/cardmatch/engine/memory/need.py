"""What a job needs by itself: no engine, no card, no copies."""

from __future__ import annotations

import math

from cardmatch.engine.memory.answer import CacheRow as AnswerRow
from cardmatch.engine.memory.answer import KvCache, Need
from cardmatch.engine.memory.extras import adapter_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.architecture import StateDtypes
from cardmatch.engine.models.cache import CacheRow
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats, token_bytes

RULE_OF_THUMB_BYTES_PER_PARAMETER = 2
"""The guides' “about 2 GB per billion parameters at 16 bits”, which counts no cache."""


def state_bytes(row: CacheRow, dtypes: StateDtypes) -> int:
    """Recurrent state of one sequence over all layers of *row*."""
    one = row.convolution_elements * dtypes.convolution_bytes + row.recurrent_elements * dtypes.recurrent
    return row.layers * one


def cached_bytes(row: CacheRow, job: ServingJob, tokens: int) -> int:
    """Keys and values that a request of *tokens* leaves in all layers of *row*, unrounded."""
    each = token_bytes(row, job.kv_cache) * row.layers
    if row.fixed_tokens is not None:
        return math.ceil(each * row.fixed_tokens)
    kept = tokens if row.window_tokens is None else min(tokens, row.window_tokens)
    return math.ceil(each * -(-kept // row.tokens_per_entry))


def need(job: ServingJob) -> Need:
    """The sum over the model for all concurrent requests at their mean length."""
    dtypes = job.architecture.state
    one = sum(cached_bytes(row, job, job.mean_tokens) for row in job.cache_rows)
    shared = (
        sum(
            cached_bytes(row, job, min(job.shared_prefix_tokens, job.mean_tokens))
            for row in job.cache_rows
            if row.window_tokens is None and row.fixed_tokens is None
        )
        if job.shared_prefix_tokens
        else 0
    )
    return Need(
        weights_bytes=job.sums.total,
        kv_cache_bytes=one * job.concurrency - shared * (job.concurrency - 1),
        recurrent_state_bytes=job.concurrency * sum(state_bytes(row, dtypes) for row in job.cache_rows),
        adapters_bytes=adapter_bytes(job.architecture, job.adapters.count, job.adapters.rank) if job.adapters else 0,
    )


def kv_cache(job: ServingJob) -> KvCache:
    """The cache by kind of layer, for one request."""
    rows = tuple(cache_row(row, job.kv_cache, job.architecture.state) for row in job.cache_rows)
    name = (
        f"{job.kv_cache.k.value}/{job.kv_cache.v.value}" if isinstance(job.kv_cache, KvFormats) else job.kv_cache.value
    )
    return KvCache(format=name, bytes_per_token=sum(row.bytes_per_token for row in rows), by_layer=rows)


def cache_row(row: CacheRow, kv_cache: KvFormat | KvFormats, dtypes: StateDtypes) -> AnswerRow:
    """What the layers of *row* cache in the format *kv_cache*, unrounded and undivided."""
    each = token_bytes(row, kv_cache) * row.layers
    fixed = math.ceil(each * row.fixed_tokens) if row.fixed_tokens is not None else 0
    return AnswerRow(
        kind=row.kind,
        layers=row.layers,
        window_tokens=row.window_tokens,
        bytes_per_token=0 if row.fixed_tokens is not None else math.ceil(each / row.tokens_per_entry),
        bytes_per_sequence=fixed + state_bytes(row, dtypes),
    )
