"""How wide a layer is for one token: what activations are multiples of."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    Block,
    CompressedAttention,
    Dense,
    Experts,
    LatentAttention,
    LinearAttention,
    Mamba,
)

_LINEAR_CHUNK_TOKENS = 64
"""Chunk of the linear-attention kernels: one state a chunk is written out during prefill."""


class Width(NamedTuple):
    """Elements that a layer holds for one token at its widest: on every tensor rank, and divided over them."""

    whole: float
    divided: float

    def rank(self, tensor: int) -> float:
        """Elements on one of *tensor* ranks."""
        return self.whole + self.divided / tensor


def widths(architecture: Architecture) -> tuple[Width, ...]:
    """The mixers and feed-forwards of *architecture*, each with the residual stream beside it, without repeats."""
    hidden = architecture.hidden_size
    found = [_width(block, hidden) for group in architecture.layer_groups for block in group.blocks]
    return tuple(dict.fromkeys(found)) or (Width(2 * hidden, 0),)


def widest(found: tuple[Width, ...], tensor: int) -> float:
    """Elements of the widest on one of *tensor* ranks."""
    return max(width.rank(tensor) for width in found)


def _width(block: Block, hidden: int) -> Width:
    """The residual stream, a block's input and output, and what lies between them."""
    stream = 3 * hidden
    if isinstance(block, Attention):
        values = block.kv_heads * (block.value_head_size or block.head_size)
        queries = block.query_heads * block.head_size
        return Width(stream, 2 * queries + block.kv_heads * block.head_size + values)
    if isinstance(block, LatentAttention):
        heads = block.heads * (block.no_rope_head_size + block.rope_head_size)
        latent = (block.query_rank or 0) + block.kv_rank + block.rope_head_size
        return Width(stream + latent, 2 * heads + block.heads * (block.kv_rank + block.value_head_size))
    if isinstance(block, CompressedAttention):
        return Width(stream + block.query_rank, 2 * block.heads * block.latent_size)
    if isinstance(block, Experts):
        seen = block.input_size or hidden
        per_token = block.experts_per_token
        return Width(stream + per_token * seen, 3 * per_token * block.width + 3 * block.shared_width)
    if isinstance(block, LinearAttention):
        keys, values = block.key_heads * block.key_head_size, block.value_heads * block.value_head_size
        states = values * block.key_head_size / _LINEAR_CHUNK_TOKENS
        return Width(stream, 2 * (2 * keys + 2 * values) + 4 * values + states)
    if isinstance(block, Mamba):
        states = block.inner_size * block.state_size / _LINEAR_CHUNK_TOKENS
        return Width(stream, 5 * block.inner_size + states)
    return Width(stream, 3 * block.width if isinstance(block, Dense) else 0)
