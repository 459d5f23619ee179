"""The figures that vLLM prints when it starts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.engines.vllm.options import Settled
from cardmatch.engine.terms.units import Bytes, TokenCount


class VllmReserves(msgspec.Struct, tag="vllm", tag_field="engine", frozen=True, kw_only=True):
    """What vLLM's log says, per GPU."""

    model_bytes: Annotated[Bytes, Meta(description="“Model loading took … GiB”.")]
    kv_cache_bytes: Annotated[Bytes, Meta(description="“Available KV cache memory: … GiB”.")]
    kv_cache_tokens: Annotated[TokenCount, Meta(description="“GPU KV cache size: … tokens”.")]
    block_size_tokens: TokenCount
    blocks: Annotated[TokenCount, Meta(description="Blocks of the cache.")]
    max_concurrency_at_max_length: Annotated[
        float, Meta(ge=0, le=10**9, description="“Maximum concurrency for … tokens per request: …x”.")
    ]
    graphs_bytes: Annotated[Bytes, Meta(description="“Graph capturing finished …, took … GiB”.")]
    max_model_len_tokens: TokenCount
    max_num_seqs: TokenCount
    max_num_batched_tokens: TokenCount


def reserves(
    *, weights: int, pool: int, graphs: int, cache: CacheLayout, longest: int, settled: Settled
) -> VllmReserves:
    """The log lines of an engine that holds *pool* bytes of cache and requests of up to *longest* tokens."""
    one = cache.request_bytes(longest)
    concurrency = max(pool, 0) / one if one else 0.0
    return VllmReserves(
        model_bytes=weights,
        kv_cache_bytes=max(pool, 0),
        kv_cache_tokens=int(concurrency * longest),
        block_size_tokens=settled.block_size,
        blocks=int(concurrency * longest) // settled.block_size,
        max_concurrency_at_max_length=round(concurrency, 2),
        graphs_bytes=graphs,
        max_model_len_tokens=longest,
        max_num_seqs=settled.max_num_seqs,
        max_num_batched_tokens=settled.max_num_batched_tokens,
    )
