"""Gemma 3n and Gemma 4: shared caches, per-layer embeddings, two attention geometries."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    CacheOwner,
    Dense,
    Experts,
    LayerGroup,
    Matrices,
    Matrix,
    Span,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, integer
from cardmatch.engine.models.config.mixture import read_mixture
from cardmatch.engine.models.config.shape import (
    MOST_HEAD_SIZE,
    MOST_HEADS,
    MOST_HIDDEN,
    MOST_VOCABULARY,
    MOST_WIDTH,
    Shape,
    read_shape,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_windows


class _Key(msgspec.Struct, frozen=True):
    """What tells one layer from another."""

    window: int | None
    shared: bool
    width: int


class _Four(msgspec.Struct, frozen=True):
    """What Gemma 4's layers have in common; full layers have a geometry of their own."""

    shape: Shape
    full_head_size: int
    full_kv_heads: int
    keys_are_values: bool
    experts: Experts | None
    per_layer: int


def read_gemma_four(keys: Keys, family: Family) -> Architecture:
    """Sliding and full layers of different geometry; the last ones read earlier caches. Raises Invalid."""
    shape = read_shape(keys, family)
    same = keys.flag("attention_k_eq_v")
    heads = keys.maybe("num_global_key_value_heads", high=MOST_HEADS) if same else None
    mixture = read_mixture(keys, family, shape.layers) if keys.flag("enable_moe_block") else None
    facts = _Four(
        shape=shape,
        full_head_size=keys.size("global_head_dim", 512, high=MOST_HEAD_SIZE),
        full_kv_heads=heads or shape.kv_heads,
        keys_are_values=same,
        experts=mixture.block if mixture else None,
        per_layer=keys.size("hidden_size_per_layer_input", low=0, high=MOST_HIDDEN),
    )
    width, wide = read_width(keys, family, shape.hidden), keys.flag("use_double_wide_mlp")
    shared = _shared(keys, shape.layers)
    layers = [
        _Key(window=window, shared=late, width=width * (2 if wide and late else 1))
        for window, late in zip(read_windows(keys, family, shape.layers), shared, strict=True)
    ]
    groups, order = stack(layers, lambda key: _layer_four(facts, key))
    return _architecture(keys, family, shape, (groups, order), facts.per_layer)


def _layer_four(facts: _Four, key: _Key) -> LayerGroup:
    shape, full = facts.shape, key.window is None
    size = facts.full_head_size if full else shape.head_size
    attention = Attention(
        query_heads=shape.heads,
        kv_heads=facts.full_kv_heads if full else shape.kv_heads,
        head_size=size,
        span=Span.FULL if full else Span.SLIDING,
        window_tokens=key.window,
        cache=CacheOwner.SHARED if key.shared else CacheOwner.OWN,
        keys_are_values=full and facts.keys_are_values,
    )
    blocks: list[AnyBlock] = [attention, Dense(width=key.width)]
    small = 4 * shape.hidden + size + (0 if key.shared else size) + 1
    if facts.experts:
        blocks.append(facts.experts)
        small += 4 * shape.hidden + facts.experts.experts
    if facts.per_layer:
        blocks.append(_gates(shape.hidden, facts.per_layer))
        small += shape.hidden
    return LayerGroup(blocks=tuple(blocks), small_parameters=small)


def _gates(hidden: int, per_layer: int) -> Matrices:
    return Matrices(
        matrices=(
            Matrix(role="per_layer_input_gate", inputs=hidden, outputs=per_layer),
            Matrix(role="per_layer_projection", inputs=per_layer, outputs=hidden),
        )
    )


class _Three(msgspec.Struct, frozen=True):
    """What Gemma 3n's layers have in common."""

    shape: Shape
    per_layer: int
    rank: int
    streams: int


def read_gemma_three_n(keys: Keys, family: Family) -> Architecture:
    """AltUp streams, LAuReL residuals and per-layer embeddings; the last layers read earlier caches. Raises Invalid."""
    shape = read_shape(keys, family)
    facts = _Three(
        shape=shape,
        per_layer=keys.size("hidden_size_per_layer_input", high=MOST_HIDDEN),
        rank=keys.size("laurel_rank", high=MOST_HIDDEN),
        streams=keys.size("altup_num_inputs", high=64),
    )
    layers = [
        _Key(window=window, shared=late, width=width)
        for window, late, width in zip(
            read_windows(keys, family, shape.layers),
            _shared(keys, shape.layers),
            _widths(keys, shape.layers),
            strict=True,
        )
    ]
    groups, order = stack(layers, lambda key: _layer_three(facts, key))
    streams = 2 * (facts.streams - 1) * shape.hidden * shape.hidden
    return _architecture(keys, family, shape, (groups, order), facts.per_layer, outside=streams)


def _layer_three(facts: _Three, key: _Key) -> LayerGroup:
    """Checkpoints ship the unused key and value projections of layers that share a cache, and vLLM loads them."""
    shape, hidden, streams = facts.shape, facts.shape.hidden, facts.streams
    attention = Attention(
        query_heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_size=shape.head_size,
        span=Span.FULL if key.window is None else Span.SLIDING,
        window_tokens=key.window,
        cache=CacheOwner.SHARED if key.shared else CacheOwner.OWN,
    )
    matrices = [
        Matrix(role="laurel.linear_left", inputs=hidden, outputs=facts.rank),
        Matrix(role="laurel.linear_right", inputs=facts.rank, outputs=hidden),
        *_gates(hidden, facts.per_layer).matrices,
    ]
    if key.shared:
        cached = shape.kv_heads * shape.head_size
        matrices += [Matrix(role=role, inputs=hidden, outputs=cached) for role in ("k_proj", "v_proj")]
    altup = streams * streams + streams**3 + streams * hidden + 2 * hidden
    small = 6 * hidden + 2 * shape.head_size + altup
    return LayerGroup(
        blocks=(attention, Dense(width=key.width), Matrices(matrices=tuple(matrices))), small_parameters=small
    )


def _widths(keys: Keys, layers: int) -> list[int]:
    found = keys.find("intermediate_size")
    if found is None or not isinstance(found[1], list):
        return [keys.size("intermediate_size", high=MOST_WIDTH)] * layers
    pointer, items = keys.array("intermediate_size", length=layers) or ("", [])
    return [integer(item, f"{pointer}/{index}", low=1, high=MOST_WIDTH) for index, item in enumerate(items)]


def _shared(keys: Keys, layers: int) -> list[bool]:
    """The last `num_kv_shared_layers` layers read caches of earlier ones."""
    shared = keys.size("num_kv_shared_layers", 0, low=0, high=layers - 1)
    return [layer >= layers - shared for layer in range(layers)]


def _architecture(
    keys: Keys,
    family: Family,
    shape: Shape,
    layers: tuple[tuple[LayerGroup, ...], tuple[int, ...]],
    per_layer: int,
    *,
    outside: int = 0,
) -> Architecture:
    rows = keys.size("vocab_size_per_layer_input", shape.vocabulary, low=0, high=MOST_VOCABULARY)
    whole = shape.layers * per_layer
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=layers[0],
        layer_order=layers[1],
        maximum_context_tokens=shape.context,
        per_layer_embedding_parameters=rows * whole,
        small_parameters=shape.hidden + outside + (shape.hidden * whole + per_layer if per_layer else 0),
        rotary_cache_elements=2 * rotary_elements(keys, family, shape.head_size, shape.context),
    )
