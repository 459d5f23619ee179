"""Gated short convolutions with attention between them: LFM2 and its mixtures."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import Architecture, Attention, Dense, LayerGroup, ShortConvolution
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.shape import (
    MOST_LAYERS,
    MOST_WIDTH,
    Shape,
    read_shape,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_layer_types


class _Facts(msgspec.Struct, frozen=True):
    """What all layers have in common."""

    shape: Shape
    convolution: ShortConvolution
    bias: bool
    width: int
    mixture: Mixture | None


def read_convolution(keys: Keys, family: Family) -> Architecture:
    """Layers of short convolution or attention with a feed-forward. Raises Invalid."""
    shape = read_shape(keys, family)
    mixture = read_mixture(keys, family, shape.layers)
    facts = _Facts(
        shape=shape,
        convolution=ShortConvolution(width=keys.size("conv_L_cache", high=64), channels=shape.hidden),
        bias=keys.flag("conv_bias"),
        width=_width(keys),
        mixture=mixture,
    )
    dense = keys.size("num_dense_layers", 0, low=0, high=MOST_LAYERS) if mixture else shape.layers
    groups, order = stack(
        ((kind, layer >= dense) for layer, kind in enumerate(_kinds(keys, shape.layers))),
        lambda key: _layer(facts, *key),
    )
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


def _width(keys: Keys) -> int:
    """LFM2 shrinks `block_ff_dim` to two thirds and rounds it up to a multiple."""
    width = keys.size("block_ff_dim", keys.maybe("intermediate_size", high=MOST_WIDTH), high=MOST_WIDTH)
    if not keys.flag("block_auto_adjust_ff_dim"):
        return width
    width = int(2 * width / 3 * keys.number("block_ffn_dim_multiplier", 1.0, low=1 / 64, high=64))
    multiple = keys.size("block_multiple_of", 256, high=MOST_WIDTH)
    return -(-width // multiple) * multiple


def _kinds(keys: Keys, layers: int) -> list[str]:
    kinds = read_layer_types(keys, layers, ("full_attention", "conv"))
    if kinds is not None:
        return kinds
    chosen = keys.integers("full_attn_idxs", low=0, high=MOST_LAYERS)
    if chosen is None:
        return ["full_attention"] * layers
    return ["full_attention" if layer in chosen else "conv" for layer in range(layers)]


def _layer(facts: _Facts, kind: str, sparse: bool) -> LayerGroup:  # noqa: FBT001 - unpacked from the stack's key
    shape = facts.shape
    small = 2 * shape.hidden
    if kind == "full_attention":
        small += 2 * shape.head_size
        mixer: Attention | ShortConvolution = Attention(
            query_heads=shape.heads, kv_heads=shape.kv_heads, head_size=shape.head_size
        )
    else:
        mixer = facts.convolution
        small += shape.hidden * facts.convolution.width + (5 * shape.hidden if facts.bias else 0)
    if sparse and facts.mixture:
        small += facts.mixture.block.experts if facts.mixture.router_bias else 0
        return LayerGroup(blocks=(mixer, facts.mixture.block), small_parameters=small)
    return LayerGroup(blocks=(mixer, Dense(width=facts.width)), small_parameters=small)
