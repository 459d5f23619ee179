"""Other linear attentions: lightning (MiniMax-Text-01) and KDA (Kimi-Linear)."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    Dense,
    LayerGroup,
    LinearAttention,
    LinearKind,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, contradiction, integer
from cardmatch.engine.models.config.latent import latent_norms, read_latent_attention
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.shape import (
    MOST_HEAD_SIZE,
    MOST_HEADS,
    read_context,
    read_hidden,
    read_layers,
    read_shape,
    read_vocabulary,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_layer_types


def read_lightning(keys: Keys, family: Family) -> Architecture:
    """Lightning attention with softmax attention every few layers, experts everywhere. Raises Invalid."""
    shape = read_shape(keys, family)
    mixture = read_mixture(keys, family, shape.layers)
    linear = LinearAttention(
        variant=LinearKind.LIGHTNING,
        key_heads=shape.heads,
        value_heads=shape.heads,
        key_head_size=shape.head_size,
        value_head_size=shape.head_size,
    )
    attention = Attention(query_heads=shape.heads, kv_heads=shape.kv_heads, head_size=shape.head_size)
    dense = Dense(width=1) if mixture else Dense(width=read_width(keys, family, shape.hidden))
    feed_forward = mixture.block if mixture else dense
    norm = shape.heads * shape.head_size

    def layer(full: bool) -> LayerGroup:  # noqa: FBT001 - the stack's key
        mixer: AnyBlock = attention if full else linear
        return LayerGroup(blocks=(mixer, feed_forward), small_parameters=2 * shape.hidden + (0 if full else norm))

    groups, order = stack(_softmax_layers(keys, shape.layers), layer)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=shape.context,
        small_parameters=shape.hidden,
        rotary_cache_elements=rotary_elements(keys, family, shape.head_size, shape.context),
    )


def _softmax_layers(keys: Keys, layers: int) -> list[bool]:
    marks = keys.integers("attn_type_list", low=0, high=1, length=layers)
    if marks is not None:
        return [mark == 1 for mark in marks]
    kinds = read_layer_types(keys, layers, ("full_attention", "linear_attention"))
    if kinds is not None:
        return [kind == "full_attention" for kind in kinds]
    return [layer % 2 == 1 for layer in range(layers)]


class _Delta(msgspec.Struct, frozen=True):
    """KDA's sizes, and which layers (counted from one) are full attention."""

    block: LinearAttention
    full: frozenset[int]


def read_kimi_linear(keys: Keys, family: Family) -> Architecture:
    """KDA with latent attention every few layers. Raises Invalid.

    Kimi-K3's attention residuals are counted as four vectors a layer, a millionth of its published total.
    """
    hidden, layers = read_hidden(keys), read_layers(keys)
    mixture = read_mixture(keys, family, layers)
    sparse = mixture.sparse if mixture else (False,) * layers
    delta = _delta(keys, layers)
    attention = read_latent_attention(keys, hidden)
    width = 1 if all(sparse) else read_width(keys, family, hidden)

    residual = 4 * hidden if keys.maybe("attn_res_block_size", low=0) else 0

    def layer(key: tuple[bool, bool]) -> LayerGroup:
        full, routed = key
        mixer: AnyBlock = attention if full else delta.block
        small = 2 * hidden + residual + (latent_norms(attention) if full else _delta_small(delta.block))
        return _with_feed_forward(mixer, small, mixture if routed else None, width)

    groups, order = stack(((index + 1 in delta.full, sparse[index]) for index in range(layers)), layer)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=read_vocabulary(keys),
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=read_context(keys),
        small_parameters=hidden,
    )


def _with_feed_forward(mixer: AnyBlock, small: int, mixture: Mixture | None, width: int) -> LayerGroup:
    if mixture is None:
        return LayerGroup(blocks=(mixer, Dense(width=width)), small_parameters=small)
    small += mixture.block.experts if mixture.router_bias else 0
    return LayerGroup(blocks=(mixer, mixture.block), small_parameters=small + (mixture.block.input_size or 0))


def _delta(keys: Keys, layers: int) -> _Delta:
    """Sizes and layout from `linear_attn_config`, or from the flat keys that transformers 5 writes."""
    config = keys.within("linear_attn_config")
    if config is None:
        return _flat_delta(keys, layers)
    found = config.array("full_attn_layers")
    if found is None:
        config.missing("full_attn_layers")
    pointer, items = found
    full = [integer(item, f"{pointer}/{index}", low=1, high=layers) for index, item in enumerate(items)]
    linear = config.integers("kda_layers", low=1, high=layers) or []
    if linear and len(set(linear) | set(full)) != layers:
        expected = layers - len(set(full))
        contradiction(config.at("kda_layers"), value=len(set(linear)), expected=expected, other=pointer)
    block = _block(
        heads=config.size("num_heads", high=MOST_HEADS),
        size=config.size("head_dim", high=MOST_HEAD_SIZE),
        taps=config.size("short_conv_kernel_size", 4, high=64),
        full_rank=config.flag("use_full_rank_gate", keys.flag("use_full_rank_gate")),
    )
    return _Delta(block=block, full=frozenset(full))


def _flat_delta(keys: Keys, layers: int) -> _Delta:
    kinds = read_layer_types(keys, layers, ("full_attention", "linear_attention"))
    if kinds is None:
        keys.missing("linear_attn_config")
    block = _block(
        heads=keys.size("linear_num_heads", high=MOST_HEADS),
        size=keys.size("linear_head_dim", high=MOST_HEAD_SIZE),
        taps=keys.size("linear_conv_kernel_dim", 4, high=64),
        full_rank=keys.flag("use_full_rank_gate"),
    )
    full = (layer + 1 for layer, kind in enumerate(kinds) if kind == "full_attention")
    return _Delta(block=block, full=frozenset(full))


def _block(*, heads: int, size: int, taps: int, full_rank: bool) -> LinearAttention:
    return LinearAttention(
        variant=LinearKind.KDA,
        key_heads=heads,
        value_heads=heads,
        key_head_size=size,
        value_head_size=size,
        convolution_width=taps,
        full_rank_gate=full_rank,
    )


def _delta_small(block: LinearAttention) -> int:
    """Elements of three convolutions, decay, step bias and the gated norm."""
    inner = block.value_heads * block.value_head_size
    return 3 * inner * block.convolution_width + block.value_heads + inner + block.value_head_size
