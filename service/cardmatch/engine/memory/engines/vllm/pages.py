"""What one layer caches on one tensor rank in vLLM: bytes per token, or pages of recurrent state."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from cardmatch.engine.memory.rank_cache import rank_token_bytes, state_page_bytes
from cardmatch.engine.models.architecture import StateDtypes
from cardmatch.engine.models.cache import CacheKind, CacheRow
from cardmatch.engine.models.kv_formats import KvCache


class PageKind(StrEnum):
    """How a layer's blocks are handed out."""

    EVERY_TOKEN = "every_token"  # noqa: S105 - a kind of layer, no secret
    SLIDING = "sliding"
    CHUNKED = "chunked"
    STATE = "state"
    SOURCE = "source"


class PageSpec(NamedTuple):
    """Layers that cache alike on one rank.

    Each takes `token_bytes` per token (an entry covers `entry_tokens`), or `state_bytes` per page of recurrent state;
    `window_tokens` is the span of sliding and chunked layers, `source_tokens` the length that cross attention caches.
    """

    kind: PageKind
    layers: int
    token_bytes: int = 0
    state_bytes: int = 0
    window_tokens: int = 0
    entry_tokens: int = 1
    source_tokens: int = 0
    latent: bool = False


_OF_KIND = {
    CacheKind.FULL: PageKind.EVERY_TOKEN,
    CacheKind.MLA: PageKind.EVERY_TOKEN,
    CacheKind.INDEXER: PageKind.EVERY_TOKEN,
    CacheKind.SLIDING: PageKind.SLIDING,
    CacheKind.CHUNKED: PageKind.CHUNKED,
    CacheKind.LINEAR: PageKind.STATE,
    CacheKind.MAMBA: PageKind.STATE,
    CacheKind.CROSS: PageKind.SOURCE,
}


def page_specs(
    rows: tuple[CacheRow, ...], kv_cache: KvCache, dtypes: StateDtypes, tensor: int, speculative_tokens: int = 0
) -> tuple[PageSpec, ...]:
    """The layers of *rows* as one of *tensor* ranks holds them, alike ones together.

    Source: vllm v0.33.0 v1/kv_cache_interface.py, model_executor/layers/mamba/mamba_utils.py.
    """
    numbers: dict[PageSpec, int] = {}
    for row in rows:
        spec = _spec(row, kv_cache, dtypes, tensor, speculative_tokens)
        numbers[spec] = numbers.get(spec, 0) + row.layers
    return tuple(spec._replace(layers=number) for spec, number in numbers.items())


def _spec(row: CacheRow, kv_cache: KvCache, dtypes: StateDtypes, tensor: int, speculative_tokens: int) -> PageSpec:
    kind = _OF_KIND[row.kind]
    if kind is PageKind.STATE:
        return PageSpec(kind, 0, state_bytes=state_page_bytes(row, dtypes, tensor, speculative_tokens))
    return PageSpec(
        kind,
        0,
        token_bytes=rank_token_bytes(row, kv_cache, tensor),
        window_tokens=row.window_tokens or 0,
        entry_tokens=row.tokens_per_entry,
        source_tokens=row.fixed_tokens or 0,
        latent=row.kind in {CacheKind.MLA, CacheKind.INDEXER},
    )
