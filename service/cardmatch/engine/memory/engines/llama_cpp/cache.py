"""The caches that llama.cpp allocates at start-up: full, sliding-window and recurrent, layer by layer.

Sources: src/llama-kv-cache.cpp, src/llama-kv-cache-iswa.cpp, src/llama-memory-recurrent.cpp (b11501).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from cardmatch.engine.memory.engines.llama_cpp.eras import MlaEra
from cardmatch.engine.memory.engines.llama_cpp.settled import Settled, padded
from cardmatch.engine.models.architecture import Architecture, LatentAttention
from cardmatch.engine.models.cache import CacheKind, CacheRow, by_layer
from cardmatch.engine.models.kv_formats import KvCache, token_bytes

_STATE_BYTES = 4  # recurrent state and convolution are f32 whatever the cache type


class Caches(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one device, as separate lines of the log name them."""

    full_bytes: int = 0
    sliding_bytes: int = 0
    indexer_bytes: int = 0
    state_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return self.full_bytes + self.sliding_bytes + self.indexer_bytes + self.state_bytes


def caches(architecture: Architecture, layers: Iterable[int], kv_cache: KvCache, settled: Settled) -> Caches:
    """What the given *layers* cache."""
    full = sliding = indexer = state = 0.0
    for row in rows(architecture, layers, settled.mla):
        each = token_bytes(row, kv_cache) * row.layers
        if row.kind is CacheKind.SLIDING:
            sliding += each * sliding_cells(row.window_tokens or settled.n_ctx, settled)
        elif row.kind is CacheKind.INDEXER:
            indexer += each * -(-settled.n_ctx // row.tokens_per_entry)
        else:
            cells = settled.n_ctx if row.fixed_tokens is None else row.fixed_tokens * settled.slots
            full += each * -(-cells // row.tokens_per_entry)
        state += (row.convolution_elements + row.recurrent_elements) * _STATE_BYTES * row.layers * settled.states
    return Caches(
        full_bytes=math.ceil(full),
        sliding_bytes=math.ceil(sliding),
        indexer_bytes=math.ceil(indexer),
        state_bytes=math.ceil(state),
    )


def sliding_cells(window_tokens: int, settled: Settled) -> int:
    """Cells of a sliding layer, over all streams: its windows and one micro-batch, never more than the context."""
    if settled.swa_full:
        return settled.n_ctx
    windows = window_tokens * (settled.slots if settled.streams == 1 else 1)
    return padded(min(settled.n_ctx_seq, windows + settled.window_extra_tokens)) * settled.streams


def rows(architecture: Architecture, layers: Iterable[int], mla: MlaEra) -> tuple[CacheRow, ...]:
    """The cache rows of *layers*, latents as builds of era *mla* store them."""
    found = by_layer(architecture, layers)
    if mla is MlaEra.KEYS_ONLY:
        return found
    block = next(
        (each for group in architecture.layer_groups for each in group.blocks if isinstance(each, LatentAttention)),
        None,
    )
    return found if block is None else tuple(_latent(row, block, mla) for row in found)


def _latent(row: CacheRow, block: LatentAttention, mla: MlaEra) -> CacheRow:
    if row.kind is not CacheKind.MLA:
        return row
    if mla is MlaEra.KEYS_AND_VALUES:
        return msgspec.structs.replace(row, value_elements=block.kv_rank)
    keys = block.heads * (block.no_rope_head_size + block.rope_head_size)
    return msgspec.structs.replace(row, key_elements=keys, value_elements=block.heads * block.value_head_size)
