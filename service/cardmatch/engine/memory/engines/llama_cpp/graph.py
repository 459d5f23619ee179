"""How wide the compute graph of a model is for one token: the tensors that live beside each other at each stage.

Source: src/llama-graph.cpp and src/models/*.cpp (b11501), read for which results are alive when the largest of a stage
is written; ggml/src/ggml-alloc.c for what is computed in place. Counts are elements per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.engines.llama_cpp.eras import MlaEra
from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    Dense,
    Experts,
    LatentAttention,
    LinearAttention,
    Mamba,
    Span,
)

_FUSED_RESULTS = 3  # gate, up and their product
# The fork computes the soft-capped logits beside the plain ones.
_SOFT_CAPPED = ("gemma2", "gemma3n", "gemma4")


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """Widths of the widest layer of each sort.

    `query`: elements of all heads; `key_value`: what a cell of the whole context caches, `sliding_key_value` one of a
    window; `own_key_value`: keys and values where every query head has its own (none fit into the gaps that queries
    leave). `experts_inner` and `experts_outer`: the results of all chosen experts, inside and behind them. `recurrent`
    and `state`: elements per token and per slot. `streams`: copies of the hidden state beside a feed-forward.
    """

    hidden: int
    vocabulary: int
    heads: int = 0
    query: int = 0
    own_key_value: int = 0
    key_value: int = 0
    sliding_key_value: int = 0
    value: int = 0
    feed_forward: int = 0
    experts_inner: int = 0
    experts_outer: int = 0
    recurrent: int = 0
    state: int = 0
    window_tokens: int | None = None
    streams: int = 3
    soft_capped: bool = False

    def feed_forward_stage(self, results: int) -> int:
        """Gate, up and their product, or the first two in older builds, on the streams of the hidden size."""
        streams = self.streams if results >= _FUSED_RESULTS else min(self.streams, results)
        return results * self.feed_forward + streams * self.hidden if self.feed_forward else 0

    def experts_stage(self, results: int) -> int:
        """The same of all chosen experts, and what comes out of them: in the gap that gate and up leave, if it fits."""
        inner, outer = self.experts_inner, self.experts_outer
        if not inner:
            return 0
        if results < _FUSED_RESULTS:
            return 2 * self.hidden + max(results * inner, inner + outer)
        return self.streams * self.hidden + results * inner + (0 if outer <= 2 * inner else outer)

    def recurrent_stage(self, tokens: int, slots: int) -> int:
        """A recurrent layer's projections, convolution and gates of all tokens, and the new state of each slot."""
        return (2 * self.hidden + self.recurrent) * tokens + self.state * slots if self.recurrent else 0

    @property
    def flash_stage(self) -> int:
        """Queries before and after norm, position and attention, on two streams."""
        return 2 * self.hidden + 5 * self.query

    @property
    def plain_stage(self) -> int:
        """The same beside the attention matrix."""
        return 2 * self.hidden + 2 * self.query + self.own_key_value


class _Widths(NamedTuple):
    """What one attention block is wide."""

    heads: int
    query: int
    own_key_value: int
    key_value: int
    sliding_key_value: int
    value: int


_NONE = _Widths(0, 0, 0, 0, 0, 0)


def graph_of(architecture: Architecture, mla: MlaEra) -> Graph:
    """The widths of *architecture*."""
    blocks = [block for group in architecture.layer_groups for block in group.blocks]
    attention = [_attention(block) for block in blocks if isinstance(block, Attention)]
    attention += [_latent(block, mla) for block in blocks if isinstance(block, LatentAttention)]
    heads, query, own, key_value, sliding, value = (max(widths) for widths in zip(*attention, _NONE, strict=True))
    experts = [block for block in blocks if isinstance(block, Experts)]
    outside = architecture.hidden_size
    return Graph(
        hidden=architecture.hidden_size,
        vocabulary=architecture.vocabulary_size,
        heads=heads,
        query=query,
        own_key_value=own,
        key_value=key_value,
        sliding_key_value=sliding,
        value=value,
        feed_forward=max((_feed_forward(block) for block in blocks if isinstance(block, Dense)), default=0),
        experts_inner=max((block.experts_per_token * block.width for block in experts), default=0),
        experts_outer=max((block.experts_per_token * (block.input_size or outside) for block in experts), default=0),
        recurrent=max((_recurrent(block)[0] for block in blocks), default=0),
        state=max((_recurrent(block)[1] for block in blocks), default=0),
        window_tokens=max((getattr(block, "window_tokens", None) or 0 for block in blocks), default=0) or None,
        streams=_streams(blocks, query, outside),
        soft_capped=architecture.family.startswith(_SOFT_CAPPED),
    )


def _streams(blocks: Sequence[AnyBlock], query: int, hidden: int) -> int:
    """Copies of the hidden state; one more where wide queries leave gaps that no feed-forward result fits into."""
    if any(isinstance(block, LinearAttention) for block in blocks):
        return 2
    return 4 if query > hidden else 3


def _recurrent(block: AnyBlock) -> tuple[int, int]:
    """Elements per token of a recurrent block, and those of its state."""
    if isinstance(block, LinearAttention):
        keys, values = block.key_heads * block.key_head_size, block.value_heads * block.value_head_size
        return 2 * (2 * keys + values) + values, keys * values // block.key_heads
    if isinstance(block, Mamba):
        mixed = block.inner_size + 2 * block.groups * block.state_size
        return 2 * mixed + block.inner_size, block.inner_size * block.state_size
    return 0, 0


def _feed_forward(block: Dense) -> int:
    """The width as if gated: plain ones hold two results, not three."""
    return block.width if block.gated else -(-2 * block.width // 3)


def _attention(block: Attention) -> _Widths:
    keys, values = block.kv_heads * block.head_size, block.kv_heads * (block.value_head_size or block.head_size)
    own = keys + values if block.kv_heads == block.query_heads else 0
    both = (0, keys + values) if block.span is Span.SLIDING else (keys + values, 0)
    return _Widths(block.query_heads, block.query_heads * block.head_size, own, *both, values)


def _latent(block: LatentAttention, mla: MlaEra) -> _Widths:
    """Latents are compared whole once builds absorb the up-projection into the queries; values are a view of keys."""
    if mla is MlaEra.EXPANDED:
        keys = block.heads * (block.no_rope_head_size + block.rope_head_size)
        values = block.heads * block.value_head_size
        return _Widths(block.heads, keys, keys + values, keys + values, 0, values)
    latent = block.kv_rank + block.rope_head_size
    return _Widths(block.heads, block.heads * latent, 0, latent, 0, 0)
