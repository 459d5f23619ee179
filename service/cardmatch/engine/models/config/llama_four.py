"""Meta's layouts of 2024 and 2025: Llama 4 (chunked attention, one shared expert) and Mllama (cross-attention)."""

from __future__ import annotations

from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    CrossAttention,
    Dense,
    Experts,
    LayerGroup,
    Span,
)
from cardmatch.engine.models.config.decoder import attention_small
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.config.mixture import MOST_EXPERTS, read_chosen
from cardmatch.engine.models.config.shape import (
    MOST_CONTEXT,
    MOST_LAYERS,
    MOST_WIDTH,
    Shape,
    read_shape,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_layer_types

_EXTRA_ROWS = 8
"""Mllama's embedding has eight rows more than its head, for the image token (modeling_mllama.py)."""


def read_llama_four(keys: Keys, family: Family) -> Architecture:
    """Three of four layers see a chunk, every n-th is a mixture with one shared expert. Raises Invalid."""
    shape = read_shape(keys, family)
    chunk = keys.size("attention_chunk_size", high=MOST_CONTEXT)
    small = 2 * shape.hidden + attention_small(keys, family, shape)
    width = keys.size("intermediate_size", high=MOST_WIDTH)
    dense = Dense(width=keys.size("intermediate_size_mlp", high=MOST_WIDTH))
    experts = keys.size("num_experts", high=MOST_EXPERTS)
    mixture = Experts(experts=experts, experts_per_token=read_chosen(keys, experts), width=width, shared_width=width)

    def layer(key: tuple[bool, bool]) -> LayerGroup:
        chunked, sparse = key
        attention = _attention(shape, Span.CHUNKED if chunked else Span.FULL, chunk if chunked else None)
        return LayerGroup(blocks=(attention, mixture if sparse else dense), small_parameters=small)

    layers = zip(_chunked(keys, shape.layers), _sparse(keys, shape.layers), strict=True)
    groups, order = stack(layers, layer)
    return _decoder(keys, family, shape, groups, order)


def _attention(shape: Shape, span: Span = Span.FULL, window: int | None = None) -> Attention:
    return Attention(
        query_heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_size=shape.head_size,
        span=span,
        window_tokens=window,
    )


def _chunked(keys: Keys, layers: int) -> list[bool]:
    kinds = read_layer_types(keys, layers, ("full_attention", "chunked_attention"))
    if kinds is not None:
        return [kind == "chunked_attention" for kind in kinds]
    found = keys.find("no_rope_layers")
    if found is not None and found[1] != []:
        marks = keys.integers("no_rope_layers", low=0, high=1, length=layers) or []
        return [bool(mark) for mark in marks]
    interval = keys.size("no_rope_layer_interval", 4, high=MOST_LAYERS)
    return [(layer + 1) % interval != 0 for layer in range(layers)]


def _sparse(keys: Keys, layers: int) -> list[bool]:
    chosen = keys.integers("moe_layers", low=0, high=MOST_LAYERS)
    if chosen:
        return [layer in chosen for layer in range(layers)]
    step = keys.size("interleave_moe_layer_step", 1, high=MOST_LAYERS)
    return [(layer + 1) % step == 0 for layer in range(layers)]


def read_mllama(keys: Keys, family: Family) -> Architecture:
    """A Llama whose layers in `cross_attention_layers` see the image instead of the text. Raises Invalid."""
    shape = read_shape(keys, family)
    crossed = keys.integers("cross_attention_layers", low=0, high=MOST_LAYERS)
    if crossed is None:
        keys.missing("cross_attention_layers")
    dense = Dense(width=read_width(keys, family, shape.hidden))
    cross = CrossAttention(
        query_heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_size=shape.head_size,
        source_tokens=keys.size("image_tokens", high=MOST_CONTEXT),
    )

    def layer(across: bool) -> LayerGroup:  # noqa: FBT001 - the stack's key
        if across:  # query and key norms, and a gate each for attention and feed-forward
            return LayerGroup(blocks=(cross, dense), small_parameters=2 * shape.hidden + 2 * shape.head_size + 2)
        return LayerGroup(blocks=(_attention(shape), dense), small_parameters=2 * shape.hidden)

    groups, order = stack((layer in crossed for layer in range(shape.layers)), layer)
    return _decoder(keys, family, shape, groups, order, extra_rows=_EXTRA_ROWS)


def _decoder(
    keys: Keys,
    family: Family,
    shape: Shape,
    groups: tuple[LayerGroup, ...],
    order: tuple[int, ...],
    *,
    extra_rows: int = 0,
) -> Architecture:
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=shape.context,
        extra_embedding_parameters=extra_rows * shape.hidden,
        small_parameters=shape.hidden,
        rotary_cache_elements=rotary_elements(keys, family, shape.head_size, shape.context),
    )
