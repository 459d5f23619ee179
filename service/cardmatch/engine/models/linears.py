"""The matrices of a block: what number formats shrink, tensor parallelism splits and LoRA adapts."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Attention,
    CacheOwner,
    CompressedAttention,
    CrossAttention,
    Dense,
    Experts,
    LatentAttention,
    LinearAttention,
    LinearKind,
    Mamba,
    Matrices,
    ShortConvolution,
)


class Split(StrEnum):
    """How tensor parallelism divides a matrix over its ranks.

    `kv_heads`: by key-value head, so never further than there are such heads; `replicated`: every rank holds all of it.
    """

    SHARDED = "sharded"
    KV_HEADS = "kv_heads"
    REPLICATED = "replicated"


class PartKind(StrEnum):
    """What a piece of the weights is for; number formats are chosen by kind."""

    EMBEDDING = "embedding"
    PER_LAYER_EMBEDDING = "per_layer_embedding"
    ATTENTION = "attention"
    GATE = "gate"
    DENSE = "dense"
    EXPERTS = "experts"
    SHARED_EXPERTS = "shared_experts"
    ROUTER = "router"
    SMALL = "small"
    HEAD = "head"
    ENCODER = "encoder"
    TOWER = "tower"
    MTP = "mtp"


class Linear(msgspec.Struct, frozen=True):
    """A matrix of `inputs × outputs`, `copies` times in a layer, of which `active` are used for one token.

    `role` is the name that PEFT and checkpoints use (q_proj, gate_proj, …).
    """

    role: str
    inputs: int
    outputs: int
    split: Split = Split.SHARDED
    copies: int = 1
    active: int = 1
    part: PartKind = PartKind.ATTENTION

    @property
    def parameters(self) -> int:
        """Elements over all copies."""
        return self.inputs * self.outputs * self.copies

    @property
    def active_parameters(self) -> int:
        """Elements that one token passes through."""
        return self.inputs * self.outputs * self.active


def linears(block: AnyBlock, hidden_size: int) -> tuple[Linear, ...]:
    """The matrices of *block* in a model of *hidden_size*."""
    return _OF[type(block)](block, hidden_size)


def _attention(block: Attention, hidden: int) -> tuple[Linear, ...]:
    value_size = block.value_head_size or block.head_size
    query = Linear("q_proj", hidden, block.query_heads * block.head_size * (2 if block.output_gate else 1))
    output = Linear("o_proj", block.query_heads * value_size, hidden)
    if block.cache is CacheOwner.SHARED:
        return query, output
    parts = [query, Linear("k_proj", hidden, block.kv_heads * block.head_size, Split.KV_HEADS)]
    if not block.keys_are_values:
        parts.append(Linear("v_proj", hidden, block.kv_heads * value_size, Split.KV_HEADS))
    if block.indexer:
        size = block.indexer.head_size
        parts.append(Linear("indexer.q_proj", hidden, block.indexer.heads * size, Split.REPLICATED))
        parts.append(Linear("indexer.k_proj", hidden, size, Split.REPLICATED))
    return *parts, output


def _latent(block: LatentAttention, hidden: int) -> tuple[Linear, ...]:
    """DeepSeek-V2 §2.1: queries and key-values through low-rank latents; the down-projections are not split."""
    head = block.no_rope_head_size + block.rope_head_size
    if block.query_rank is None:
        queries = [Linear("q_proj", hidden, block.heads * head)]
    else:
        queries = [
            Linear("q_a_proj", hidden, block.query_rank, Split.REPLICATED),
            Linear("q_b_proj", block.query_rank, block.heads * head),
        ]
    parts = [
        *queries,
        Linear("kv_a_proj_with_mqa", hidden, block.kv_rank + block.rope_head_size, Split.REPLICATED),
        Linear("kv_b_proj", block.kv_rank, block.heads * (block.no_rope_head_size + block.value_head_size)),
        Linear("o_proj", block.heads * block.value_head_size, hidden),
    ]
    if block.output_gate:
        parts.append(Linear("g_proj", hidden, block.heads * block.value_head_size))
    if block.indexer:
        index = block.indexer
        seen = block.query_rank or hidden
        parts += [
            Linear("indexer.wq_b", seen, index.heads * index.head_size, Split.REPLICATED),
            Linear("indexer.wk", hidden, index.head_size, Split.REPLICATED),
            Linear("indexer.weights_proj", hidden, index.heads, Split.REPLICATED, part=PartKind.GATE),
        ]
    return tuple(parts)


def _compressed(block: CompressedAttention, hidden: int) -> tuple[Linear, ...]:
    size, whole = block.latent_size, Split.REPLICATED
    parts = [
        Linear("q_a_proj", hidden, block.query_rank, whole),
        Linear("q_b_proj", block.query_rank, block.heads * size),
        Linear("kv_proj", hidden, size, whole),
        Linear("o_a_proj", block.heads * size // block.output_groups, block.output_groups * block.output_rank),
        Linear("o_b_proj", block.output_groups * block.output_rank, hidden),
    ]
    if block.ratio:
        width = size * (2 if block.indexer else 1)
        parts += [Linear(f"compressor.{role}", hidden, width, whole) for role in ("kv_proj", "gate_proj")]
    if block.indexer:
        index = block.indexer
        parts += [
            Linear("indexer.q_b_proj", block.query_rank, index.heads * index.head_size, whole),
            Linear("indexer.kv_proj", hidden, 2 * index.head_size, whole),
            Linear("indexer.gate_proj", hidden, 2 * index.head_size, whole),
            Linear("indexer.weights_proj", hidden, index.heads, whole, part=PartKind.GATE),
        ]
    return tuple(parts)


def _linear(block: LinearAttention, hidden: int) -> tuple[Linear, ...]:
    keys, values = block.key_heads * block.key_head_size, block.value_heads * block.value_head_size
    output = Linear("out_proj", values, hidden)
    if block.variant is LinearKind.GATED_DELTA:
        gates = Linear("in_proj_ba", hidden, 2 * block.value_heads, part=PartKind.GATE)
        return Linear("in_proj_qkvz", hidden, 2 * keys + 2 * values), gates, output
    if block.variant is LinearKind.LIGHTNING:
        return Linear("qkv_proj", hidden, 2 * keys + values), Linear("output_gate", hidden, values), output
    return *_delta(block, hidden), output


def _delta(block: LinearAttention, hidden: int) -> tuple[Linear, ...]:
    """Kimi-Linear's KDA: queries, keys, values, and gates through rank-`head` pairs."""
    keys, values = block.key_heads * block.key_head_size, block.value_heads * block.value_head_size
    rank, gate = block.value_head_size, PartKind.GATE
    low_rank = [
        Linear("f_a_proj", hidden, rank, part=gate),
        Linear("f_b_proj", rank, keys, part=gate),
        Linear("b_proj", hidden, block.value_heads, part=gate),
    ]
    if block.full_rank_gate:
        low_rank.append(Linear("g_proj", hidden, values))
    else:
        low_rank += [Linear("g_a_proj", hidden, rank, part=gate), Linear("g_b_proj", rank, values, part=gate)]
    return (
        Linear("q_proj", hidden, keys),
        Linear("k_proj", hidden, keys),
        Linear("v_proj", hidden, values),
        *low_rank,
    )


def _mamba(block: Mamba, hidden: int) -> tuple[Linear, ...]:
    """Mamba §3 and Mamba-2 §8: version 1 derives B, C and the step from the inner stream, version 2 projects them."""
    inner, output = block.inner_size, Linear("out_proj", block.inner_size, hidden)
    if block.version == 1:
        rank = block.time_step_rank or -(-hidden // 16)
        return (
            Linear("in_proj", hidden, 2 * inner),
            Linear("x_proj", inner, rank + 2 * block.state_size),
            Linear("dt_proj", rank, inner),
            output,
        )
    return Linear("in_proj", hidden, 2 * inner + 2 * block.groups * block.state_size + block.heads), output


def _convolution(block: ShortConvolution, hidden: int) -> tuple[Linear, ...]:
    return Linear("in_proj", hidden, 3 * block.channels), Linear("out_proj", block.channels, hidden)


def _cross(block: CrossAttention, hidden: int) -> tuple[Linear, ...]:
    queries, keys = block.query_heads * block.head_size, block.kv_heads * block.head_size
    seen = block.source_size or hidden
    return (
        Linear("q_proj", hidden, queries),
        Linear("k_proj", seen, keys, Split.KV_HEADS),
        Linear("v_proj", seen, keys, Split.KV_HEADS),
        Linear("o_proj", queries, hidden),
    )


def _feed_forward(hidden: int, width: int, *, gated: bool, part: PartKind, prefix: str = "") -> tuple[Linear, ...]:
    up = Linear(f"{prefix}up_proj", hidden, width, part=part)
    down = Linear(f"{prefix}down_proj", width, hidden, part=part)
    return (Linear(f"{prefix}gate_proj", hidden, width, part=part), up, down) if gated else (up, down)


def _dense(block: Dense, hidden: int) -> tuple[Linear, ...]:
    return _feed_forward(hidden, block.width, gated=block.gated, part=PartKind.DENSE)


def _experts(block: Experts, hidden: int) -> tuple[Linear, ...]:
    seen, whole = block.input_size or hidden, Split.REPLICATED
    one = _feed_forward(seen, block.width, gated=block.gated, part=PartKind.EXPERTS, prefix="experts.")
    parts = [Linear("router", hidden, block.experts, whole, part=PartKind.ROUTER)]
    parts += [msgspec.structs.replace(each, copies=block.experts, active=block.experts_per_token) for each in one]
    if block.shared_width:
        shared = PartKind.SHARED_EXPERTS
        parts += _feed_forward(hidden, block.shared_width, gated=block.gated, part=shared, prefix="shared_expert.")
    if block.shared_gate:
        parts.append(Linear("shared_expert_gate", hidden, 1, whole, part=PartKind.GATE))
    if block.input_size:
        parts += [
            Linear("fc1_latent_proj", hidden, seen, whole, part=PartKind.SHARED_EXPERTS),
            Linear("fc2_latent_proj", seen, hidden, whole, part=PartKind.SHARED_EXPERTS),
        ]
    return tuple(parts)


def _matrices(block: Matrices, _: int) -> tuple[Linear, ...]:
    return tuple(Linear(each.role, each.inputs, each.outputs, Split.REPLICATED) for each in block.matrices)


_OF: dict[type, Callable[[Any, int], tuple[Linear, ...]]] = {
    Attention: _attention,
    LatentAttention: _latent,
    CompressedAttention: _compressed,
    LinearAttention: _linear,
    Mamba: _mamba,
    ShortConvolution: _convolution,
    CrossAttention: _cross,
    Dense: _dense,
    Experts: _experts,
    Matrices: _matrices,
}
