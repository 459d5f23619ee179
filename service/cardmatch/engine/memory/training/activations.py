"""What each kind of block keeps of a token for the backward pass.

The rules are autograd's: a matrix keeps its input if its weight (or an adapter on it) is trained; a non-linear
operation keeps what its derivative needs. For a GPT block they add up to Korthikanti et al. (arXiv 2205.05198),
s·b·h·(34 + 5·a·s/h), divided over tensor ranks as their equations 2 and 4 do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cardmatch.engine.memory.training.style import Saved, Style, add, input_bytes, norm_bytes
from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    CrossAttention,
    Dense,
    Encoder,
    Experts,
    LatentAttention,
    LayerGroup,
    LinearAttention,
    Mamba,
    Matrices,
    ShortConvolution,
)
from cardmatch.engine.models.parameters import layer_counts

_QKV = ("q_proj", "k_proj", "v_proj")
_CHUNK_TOKENS = 64
"""Linear attention and state-space kernels keep one state per chunk (flash-linear-attention, mamba_ssm)."""


def layers(architecture: Architecture, style: Style) -> tuple[tuple[int, Saved], ...]:
    """For each layer group how many layers there are, and what one keeps of a token."""
    counts = layer_counts(architecture)
    return tuple(
        (count, layer(group, architecture.hidden_size, style))
        for group, count in zip(architecture.layer_groups, counts, strict=True)
    )


def encoder_layer(encoder: Encoder | None, style: Style) -> Saved:
    """What one layer of an encoder keeps of a token of its source."""
    return Saved() if encoder is None else layer(encoder.layer, encoder.hidden_size, style)


def layer(group: LayerGroup, hidden: int, style: Style) -> Saved:
    """What one layer of *group* keeps of a token."""
    total = Saved()
    rms = not any(isinstance(block, Dense) and not block.gated for block in group.blocks)
    for block in group.blocks:
        total = add(total, _OF[type(block)](block, hidden, style))
        total = total._replace(whole=total.whole + norm_bytes(style, hidden, rms=rms))
    return total


def _score_bytes(style: Style, heads: int) -> float:
    """Softmax output, its 16-bit copy where it ran in fp32, dropout's mask and output."""
    if not style.scores:
        return 0
    return heads * (style.score_bytes + (1 + style.compute if style.dropout else 0))


def _core(style: Style, hidden: int, queries: float, keys: float, values: float, heads: int, into: float) -> Saved:
    """Attention proper: queries, keys, values and output; its output is what the output matrix reads."""
    c = style.compute
    output = input_bytes(style, queries, ("o_proj",), kept_anyway=True)
    return Saved(
        whole=into + (hidden if style.dropout else 0),
        sharded=c * (queries + keys + values + queries) + output,
        scores=_score_bytes(style, heads),
        outputs=c * (queries + keys + values + hidden),
        attention=c * queries,
        transient=2 * c * hidden + c * (queries + keys + values),
    )


def _attention(block: Attention, hidden: int, style: Style) -> Saved:
    heads = block.query_heads
    kv_heads = heads if style.expanded else block.kv_heads
    values = block.value_head_size or block.head_size
    into = input_bytes(style, hidden, _QKV)
    gate = style.compute * 2 * heads * block.head_size if block.output_gate else 0
    core = _core(style, hidden, heads * block.head_size, kv_heads * block.head_size, kv_heads * values, heads, into)
    return core._replace(sharded=core.sharded + gate)


def _cross(block: CrossAttention, hidden: int, style: Style) -> Saved:
    kv_heads = block.query_heads if style.expanded else block.kv_heads
    queries = block.query_heads * block.head_size
    into = input_bytes(style, hidden, ("q_proj",))
    core = _core(style, hidden, queries, 0, 0, block.query_heads, into)
    seen = input_bytes(style, block.source_size or hidden, ("k_proj", "v_proj"), kept_anyway=True)
    return core._replace(
        sharded=core.sharded + core.scores * block.source_tokens,  # every token attends to the source, none to a token
        scores=0,
        source=block.source_tokens * (seen + 2 * style.compute * kv_heads * block.head_size),
    )


def _latent(block: LatentAttention, hidden: int, style: Style) -> Saved:
    """DeepSeek-V2 §2.1 as transformers runs it: latents are normed, then expanded to full heads."""
    c, heads = style.compute, block.heads
    size = block.no_rope_head_size + block.rope_head_size
    into = input_bytes(style, hidden, ("q_a_proj", "q_proj", "kv_a_proj_with_mqa"))
    latents = block.kv_rank + block.rope_head_size + (block.query_rank or 0)
    expanded = heads * (block.no_rope_head_size + block.value_head_size)
    core = _core(style, hidden, heads * size, heads * size, heads * block.value_head_size, heads, into)
    return core._replace(
        whole=core.whole + 2 * c * latents,
        sharded=core.sharded + c * expanded,
        outputs=c * (heads * size + latents + expanded + hidden),
    )


def _compressed(block: CompressedAttention, hidden: int, style: Style) -> Saved:
    c, queries = style.compute, block.heads * block.latent_size
    latents = block.query_rank + 2 * block.latent_size
    into = input_bytes(style, hidden, ("q_a_proj", "kv_proj"))
    core = _core(style, hidden, queries, block.latent_size, 0, block.heads, into)
    grouped = c * block.output_groups * block.output_rank
    return core._replace(whole=core.whole + 2 * c * latents, sharded=core.sharded + grouped)


def _linear(block: LinearAttention, hidden: int, style: Style) -> Saved:
    c = style.compute
    keys, values = block.key_heads * block.key_head_size, block.value_heads * block.value_head_size
    mixed = 2 * keys + values
    states = block.value_heads * block.key_head_size * block.value_head_size / _CHUNK_TOKENS
    into = input_bytes(style, hidden, ("in_proj_qkvz", "in_proj_ba", "qkv_proj", *_QKV))
    output = input_bytes(style, values, ("out_proj",))
    return Saved(
        whole=into,
        sharded=c * (2 * mixed + 2 * values + states) + output,
        outputs=c * (mixed + values + hidden),
        attention=c * values,
        transient=2 * c * hidden + c * mixed,
    )


def _mamba(block: Mamba, hidden: int, style: Style) -> Saved:
    """Mamba-2 §6: the scan keeps its inputs and one state per chunk; the gate and the convolution keep theirs."""
    c, inner = style.compute, block.inner_size
    mixed = inner + 2 * block.groups * block.state_size
    states = inner * block.state_size / _CHUNK_TOKENS
    output = input_bytes(style, inner, ("out_proj",))
    return Saved(
        whole=input_bytes(style, hidden, ("in_proj",)),
        sharded=c * (2 * mixed + 2 * inner + states) + output,
        outputs=c * (inner + mixed + hidden),
        attention=c * inner,
        transient=2 * c * hidden + 2 * c * inner,
    )


def _convolution(block: ShortConvolution, hidden: int, style: Style) -> Saved:
    c, channels = style.compute, block.channels
    output = input_bytes(style, channels, ("out_proj",))
    return Saved(
        whole=input_bytes(style, hidden, ("in_proj",)),
        sharded=c * 5 * channels + output,
        outputs=c * (3 * channels + hidden),
        transient=2 * c * hidden + 3 * c * channels,
    )


def _feed_forward(style: Style, hidden: int, width: float, *, gated: bool, prefix: str = "") -> Saved:
    """Gate, its activation and up are kept; fused kernels recompute the activation. The down matrix reads a product."""
    c = style.compute
    kept = (2 if style.fused else 3) if gated else 1
    into = input_bytes(style, hidden, (f"{prefix}gate_proj", f"{prefix}up_proj"))
    down = input_bytes(style, width, (f"{prefix}down_proj",))
    return Saved(
        whole=into + (hidden if style.dropout else 0),
        sharded=c * kept * width + down,
        outputs=c * ((2 if gated else 1) * width + hidden),
        transient=2 * c * hidden + 2 * c * width,
    )


def _dense(block: Dense, hidden: int, style: Style) -> Saved:
    return _feed_forward(style, hidden, block.width, gated=block.gated)


def _experts(block: Experts, hidden: int, style: Style) -> Saved:
    """Each token visits `experts_per_token` experts with a copy of itself and brings a copy back; router in fp32.

    Experts run one after another, so gradients live for one expert's tokens at a time.
    """
    c, visits, seen = style.compute, block.experts_per_token, block.input_size or hidden
    one = _feed_forward(style, seen, block.width, gated=block.gated, prefix="experts.")
    total = Saved(
        whole=2 * 4 * block.experts,
        sharded=visits * (2 * c * seen + one.whole + one.sharded),
        outputs=visits * one.outputs,
        transient=2 * c * hidden + visits / block.experts * one.transient,
    )
    if block.shared_width:
        total = add(total, _feed_forward(style, hidden, block.shared_width, gated=block.gated, prefix="shared_expert."))
    return total


def _matrices(block: Matrices, _: int, style: Style) -> Saved:
    read = sum(input_bytes(style, matrix.inputs, (matrix.role,)) for matrix in block.matrices)
    written = style.compute * sum(matrix.outputs for matrix in block.matrices)
    return Saved(whole=read + written, outputs=written, transient=written)


_OF: dict[type, Callable[[Any, int, Style], Saved]] = {
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
