"""What a model keeps per token and per sequence, layer kind by layer kind, in elements (formats come later)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    CacheOwner,
    CompressedAttention,
    CrossAttention,
    Indexer,
    LatentAttention,
    LinearAttention,
    LinearKind,
    Mamba,
    ShortConvolution,
    Span,
)
from cardmatch.engine.models.linears import Split


class CacheKind(StrEnum):
    """How a layer's cache grows with the context."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    MLA = "mla"
    INDEXER = "indexer"
    LINEAR = "linear"
    MAMBA = "mamba"
    CROSS = "cross"


class CacheRow(msgspec.Struct, frozen=True, kw_only=True):
    """Layers that cache alike. Element counts are those of one layer; `layers` says how many there are.

    A token takes `key_elements + value_elements` (a latent counts as keys), kept for the last `window_tokens` tokens,
    or for one in `tokens_per_entry`, or, with `fixed_tokens`, for that many source tokens whatever the context.
    A sequence takes `convolution_elements + recurrent_elements` once. `split` says what tensor parallelism does.
    """

    kind: CacheKind
    layers: int
    key_elements: int = 0
    value_elements: int = 0
    rotary_elements: Annotated[int, Meta(description="Of a latent's key elements, those with rotary positions.")] = 0
    kv_heads: Annotated[int, Meta(description="Heads that tensor parallelism can divide; 1 where it cannot.")] = 1
    window_tokens: int | None = None
    tokens_per_entry: int = 1
    fixed_tokens: int | None = None
    convolution_elements: int = 0
    convolution_taps: Annotated[int, Meta(description="Earlier inputs that a convolution keeps of each channel.")] = 0
    recurrent_elements: int = 0
    split: Split = Split.KV_HEADS

    @property
    def elements(self) -> int:
        """Cached elements of one token in one layer."""
        return self.key_elements + self.value_elements


def by_layer(
    architecture: Architecture, layers: Iterable[int] | None = None, *, next_token: bool = False
) -> tuple[CacheRow, ...]:
    """Cache rows of *architecture*, or of the given *layers* alone (a pipeline stage), alike ones merged.

    With *next_token* the multi-token-prediction layers' caches are added.
    """
    order = architecture.layer_order if layers is None else [architecture.layer_order[layer] for layer in layers]
    counts: dict[int, int] = {}
    for group in order:
        counts[group] = counts.get(group, 0) + 1
    merged: dict[CacheRow, int] = {}
    for group, number in counts.items():
        _merge(merged, architecture.layer_groups[group].blocks, number)
    extra = architecture.next_token_layers
    if next_token and extra is not None:
        _merge(merged, extra.group.blocks, extra.layers)
    rows = (msgspec.structs.replace(row, layers=number) for row, number in merged.items())
    return tuple(sorted(rows, key=lambda row: _ORDER[row.kind]))


def _merge(rows: dict[CacheRow, int], blocks: tuple[AnyBlock, ...], layers: int) -> None:
    for block in blocks:
        for row in _OF.get(type(block), _nothing)(block):
            rows[row] = rows.get(row, 0) + layers


def _nothing(_: Any) -> tuple[CacheRow, ...]:
    return ()


def _attention(block: Attention) -> tuple[CacheRow, ...]:
    if block.cache is not CacheOwner.OWN:
        return ()
    row = CacheRow(
        kind=_OF_SPAN[block.span],
        layers=1,
        key_elements=block.kv_heads * block.head_size,
        value_elements=block.kv_heads * (block.value_head_size or block.head_size),
        kv_heads=block.kv_heads,
        window_tokens=block.window_tokens,
    )
    return row, *_indexer(block.indexer)


def _indexer(indexer: Indexer | None, tokens_per_entry: int = 1) -> tuple[CacheRow, ...]:
    if indexer is None:
        return ()
    return (
        CacheRow(
            kind=CacheKind.INDEXER,
            layers=1,
            key_elements=indexer.head_size,
            tokens_per_entry=tokens_per_entry,
            split=Split.REPLICATED,
        ),
    )


def _latent(block: LatentAttention) -> tuple[CacheRow, ...]:
    size = block.kv_rank + block.rope_head_size
    row = CacheRow(
        kind=CacheKind.MLA,
        layers=1,
        key_elements=size,
        rotary_elements=block.rope_head_size,
        split=Split.REPLICATED,
    )
    return row, *_indexer(block.indexer)


def _compressed(block: CompressedAttention) -> tuple[CacheRow, ...]:
    size, whole = block.latent_size, Split.REPLICATED
    window = CacheRow(
        kind=CacheKind.SLIDING, layers=1, key_elements=size, window_tokens=block.window_tokens, split=whole
    )
    if not block.ratio:
        return (window,)
    entries = CacheRow(kind=CacheKind.MLA, layers=1, key_elements=size, tokens_per_entry=block.ratio, split=whole)
    return window, entries, *_indexer(block.indexer, block.ratio)


def _linear(block: LinearAttention) -> tuple[CacheRow, ...]:
    keys, values = block.key_heads * block.key_head_size, block.value_heads * block.value_head_size
    channels = 0 if block.variant is LinearKind.LIGHTNING else 2 * keys + values
    return (
        CacheRow(
            kind=CacheKind.LINEAR,
            layers=1,
            convolution_elements=channels * max(block.convolution_width - 1, 0),
            convolution_taps=max(block.convolution_width - 1, 0) if channels else 0,
            recurrent_elements=block.value_heads * block.key_head_size * block.value_head_size,
            split=Split.SHARDED,
        ),
    )


def _mamba(block: Mamba) -> tuple[CacheRow, ...]:
    channels = block.inner_size + (2 * block.groups * block.state_size if block.version > 1 else 0)
    return (
        CacheRow(
            kind=CacheKind.MAMBA,
            layers=1,
            convolution_elements=channels * (block.convolution_width - 1),
            convolution_taps=block.convolution_width - 1,
            recurrent_elements=block.inner_size * block.state_size,
            split=Split.SHARDED,
        ),
    )


def _convolution(block: ShortConvolution) -> tuple[CacheRow, ...]:
    taps = max(block.width - 1, 1)
    return (
        CacheRow(
            kind=CacheKind.MAMBA,
            layers=1,
            convolution_elements=block.channels * taps,
            convolution_taps=taps,
            split=Split.SHARDED,
        ),
    )


def _cross(block: CrossAttention) -> tuple[CacheRow, ...]:
    size = block.kv_heads * block.head_size
    return (
        CacheRow(
            kind=CacheKind.CROSS,
            layers=1,
            key_elements=size,
            value_elements=size,
            kv_heads=block.kv_heads,
            fixed_tokens=block.source_tokens,
        ),
    )


_ORDER = {kind: position for position, kind in enumerate(CacheKind)}
_OF_SPAN = {Span.FULL: CacheKind.FULL, Span.SLIDING: CacheKind.SLIDING, Span.CHUNKED: CacheKind.CHUNKED}
_OF: dict[type, Callable[[Any], tuple[CacheRow, ...]]] = {
    Attention: _attention,
    LatentAttention: _latent,
    CompressedAttention: _compressed,
    LinearAttention: _linear,
    Mamba: _mamba,
    ShortConvolution: _convolution,
    CrossAttention: _cross,
}
