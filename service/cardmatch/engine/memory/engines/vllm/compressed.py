"""vLLM's cache of compressed attention (DeepSeek-V4): pages of latents, their indexer, windows and compressor states.

All share one pool. A block holds 256 tokens of every compressed layer, or 64 of half the windows, or 4 or 8 of the
compressors' fp32 states, which slide like windows. Sources: vllm v0.33.0 models/deepseek_v4/compressor.py,
v1/kv_cache_interface.py (pages are multiples of 576 bytes); group sizes as printed in vllm#54703 and vllm#51041.
"""

from __future__ import annotations

from cardmatch.engine.memory.engines.vllm.groups import Kind, Plan
from cardmatch.engine.memory.engines.vllm.pages import PageKind, PageSpec
from cardmatch.engine.memory.engines.vllm.settle import Settled
from cardmatch.engine.models.cache import CacheKind, CacheRow

BLOCK_TOKENS = 256
WINDOW_BLOCK_TOKENS = 64
_ALIGNMENT_BYTES = 576
_ROTARY_ELEMENTS = 64
_ROTARY_BYTES = 2
_SCALE_BYTES = 8
_INDEXER_TOKEN_BYTES = 132
_WINDOW_GROUPS = 2
_OVERLAPPING = 2
_STATE_BLOCK_TOKENS = {4: 4, 128: 8}


def is_compressed(rows: tuple[CacheRow, ...]) -> bool:
    """Whether some layers keep one latent for several tokens."""
    return any(row.tokens_per_entry > 1 for row in rows)


def compressed_plan(rows: tuple[CacheRow, ...], specs: tuple[PageSpec, ...], settled: Settled) -> Plan:
    """The groups of *rows*.

    Until 0.28 each layer's three pages were laid side by side as often as there are windows in a group; since then a
    block is what the compressed layers need.
    """
    windows = next(row for row in rows if row.kind is CacheKind.SLIDING)
    pages = {row: _page_bytes(row) for row in rows}
    group = -(-windows.layers // _WINDOW_GROUPS)
    block = sum(page * row.layers for row, page in pages.items() if row.tokens_per_entry > 1)
    page = -(-block // group) if settled.era.packs_compressed else sum(set(pages.values()))
    window_spec = next(spec for spec in specs if spec.kind is PageKind.SLIDING)
    kinds = [
        Kind(PageSpec(PageKind.EVERY_TOKEN, 0), 1, BLOCK_TOKENS),
        Kind(window_spec, _WINDOW_GROUPS, WINDOW_BLOCK_TOKENS),
    ]
    for ratio in sorted({row.tokens_per_entry for row in rows if row.kind is CacheKind.MLA}):
        overlaps = any(row.kind is CacheKind.INDEXER and row.tokens_per_entry == ratio for row in rows)
        span = ratio * (_OVERLAPPING if overlaps else 1)
        kinds.append(Kind(PageSpec(PageKind.SLIDING, 0, window_tokens=span), 1, _STATE_BLOCK_TOKENS.get(ratio, 8)))
    return Plan(tuple(kinds), page, group, BLOCK_TOKENS)


def _page_bytes(row: CacheRow) -> int:
    """One layer's page: entries of 584 bytes (448 in fp8, 64 rotary ones in 16 bits, 8 of scales) or indexer keys."""
    if row.kind is CacheKind.INDEXER:
        size = BLOCK_TOKENS // row.tokens_per_entry * _INDEXER_TOKEN_BYTES
    else:
        tokens = WINDOW_BLOCK_TOKENS if row.kind is CacheKind.SLIDING else BLOCK_TOKENS
        entry = row.key_elements - _ROTARY_ELEMENTS + _ROTARY_ELEMENTS * _ROTARY_BYTES + _SCALE_BYTES
        size = tokens // row.tokens_per_entry * entry
    return -(-size // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
