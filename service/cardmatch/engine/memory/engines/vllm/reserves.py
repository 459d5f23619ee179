"""The figures that vLLM prints when it starts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.engines.vllm.groups import Plan
from cardmatch.engine.memory.engines.vllm.settle import Settled
from cardmatch.engine.terms.units import Bytes, TokenCount


class VllmReserves(msgspec.Struct, tag="vllm", tag_field="engine", frozen=True, kw_only=True):
    """What vLLM's log says, per GPU."""

    version: str
    model_bytes: Annotated[Bytes, Meta(description="“Model loading took … GiB”.")]
    kv_cache_bytes: Annotated[Bytes, Meta(description="“Available KV cache memory: … GiB”.")]
    kv_cache_tokens: Annotated[TokenCount, Meta(description="“GPU KV cache size: … tokens”.")]
    block_size_tokens: TokenCount
    blocks: Annotated[TokenCount, Meta(description="Blocks of the cache, shared by all groups of layers.")]
    blocks_per_request: Annotated[TokenCount, Meta(description="Blocks that one request of full length may take.")]
    max_concurrency_at_max_length: Annotated[
        float, Meta(ge=0, le=10**13, description="“Maximum concurrency for … tokens per request: …x”.")
    ]
    graphs_bytes: Annotated[Bytes, Meta(description="“Graph capturing finished …, took … GiB”.")]
    max_model_len_tokens: TokenCount
    max_num_seqs: TokenCount
    max_num_batched_tokens: TokenCount


def reserves(
    *,
    version: str,
    weights: int,
    pool: int,
    graphs: int,
    cache: CacheLayout,
    plan: Plan,
    longest: int,
    settled: Settled,
) -> VllmReserves:
    """The log lines of an engine that holds *pool* bytes of cache and requests of up to *longest* tokens.

    Since 0.21 tokens are concurrency × length; before, blocks were shared out evenly between groups of layers, which
    understates hybrids (vllm#40691).
    """
    held = max(pool, 0)
    one = cache.request_bytes(longest)
    block = cache.block_bytes or 1
    blocks = held // block
    per_request = -(-one // block)
    concurrency = blocks / per_request if per_request else 0.0
    tokens = int(concurrency * longest)
    if not settled.era.tokens_from_concurrency:
        tokens = blocks // max(plan.groups, 1) * settled.block_size * cache.ranks
    return VllmReserves(
        version=version,
        model_bytes=weights,
        kv_cache_bytes=held,
        kv_cache_tokens=tokens,
        block_size_tokens=plan.block_tokens,
        blocks=blocks,
        blocks_per_request=per_request,
        max_concurrency_at_max_length=round(concurrency, 2),
        graphs_bytes=graphs,
        max_model_len_tokens=longest,
        max_num_seqs=settled.max_num_seqs,
        max_num_batched_tokens=settled.max_num_batched_tokens,
    )
