"""How vLLM pages the cache: whole blocks per request, heads split over tensor ranks as far as they go."""

from __future__ import annotations

import math

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.cache import CacheRow
from cardmatch.engine.models.kv_formats import KvCache, token_bytes
from cardmatch.engine.models.linears import Split


def cache_layout(job: ServingJob, layout: Layout, block_size: int) -> CacheLayout:
    """The cache of one request on the fullest GPU of *layout*.

    Source: vllm v0.33.0 v1/kv_cache_interface.py: blocks × kv_heads_per_rank × (key + value size) × bytes.
    """
    terms = tuple(_term(row, job, layout, block_size) for row in job.cache_rows)
    return CacheLayout(terms=terms, ranks=layout.decode_context)


def rank_token_bytes(row: CacheRow, kv_cache: KvCache, tensor: int) -> int:
    """Bytes of one token in one layer on one tensor rank: ranks beyond the number of heads hold copies."""
    whole = token_bytes(row, kv_cache)
    if row.split is not Split.KV_HEADS or tensor == 1:
        return math.ceil(whole)
    return math.ceil(whole * max(1, row.kv_heads // tensor) / row.kv_heads)


def _term(row: CacheRow, job: ServingJob, layout: Layout, block_size: int) -> CacheTerm:
    layers = -(-row.layers // layout.pipeline)
    each = layers * rank_token_bytes(row, job.kv_cache, layout.tensor)
    dtypes = job.architecture.state
    state = row.convolution_elements * dtypes.convolution_bytes + row.recurrent_elements * dtypes.recurrent_bytes
    fixed = layers * -(-state // layout.tensor)
    if row.fixed_tokens is not None:
        return CacheTerm(fixed_bytes=fixed + each * row.fixed_tokens)
    return CacheTerm(
        bytes_per_token=-(-each // row.tokens_per_entry),
        block_tokens=block_size,
        cap_tokens=row.window_tokens,
        fixed_bytes=fixed,
    )
