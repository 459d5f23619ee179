"""Decoders whose sliding layers have heads of their own: MiMo-V2 and Step-3.7; and MiniMax-M3 with its indexer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    Dense,
    Indexer,
    LayerGroup,
    Matrices,
    Matrix,
    Span,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, divisible
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.shape import (
    MOST_HEAD_SIZE,
    MOST_HEADS,
    MOST_WIDTH,
    Shape,
    read_shape,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_windows


class _Facts(msgspec.Struct, frozen=True):
    """The two attentions with the small elements of each, and the feed-forwards."""

    hidden: int
    full: Attention
    full_small: int
    sliding: Attention
    sliding_small: int
    dense: Dense
    mixture: Mixture | None
    indexer: Indexer | None
    head_gate: bool


def read_two_shapes(keys: Keys, family: Family) -> Architecture:
    """Full and sliding layers with different heads, dense and expert layers. Raises Invalid."""
    shape = read_shape(keys, family)
    mixture = read_mixture(keys, family, shape.layers)
    windows = _windows(keys, family, shape.layers)
    facts = _facts(keys, family, shape, mixture)
    sparse = mixture.sparse if mixture else (False,) * shape.layers
    indexed = _indexed(keys, sparse, shape.layers) if facts.indexer else (False,) * shape.layers
    groups, order = stack(zip(windows, sparse, indexed, strict=True), lambda key: _layer(facts, *key))
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=shape.context,
        small_parameters=shape.hidden,
        rotary_cache_elements=2 * rotary_elements(keys, family, shape.head_size, shape.context),
    )


def _windows(keys: Keys, family: Family, layers: int) -> list[int | None]:
    """MiMo marks its sliding layers in `hybrid_layer_pattern`; Step-3.7's list of kinds covers its MTP layers too."""
    marks = keys.integers("hybrid_layer_pattern", low=0, high=1, length=layers)
    if marks is not None:
        window = keys.size("sliding_window")
        return [window if mark else None for mark in marks]
    found = keys.find("layer_types")
    extra = keys.size("num_nextn_predict_layers", 0, low=0, high=16)
    if found and isinstance(found[1], list) and extra and len(found[1]) == layers + extra:
        trimmed = {**keys.values, found[0]: found[1][:layers]}
        outer, keys = keys, Keys(trimmed, pointer=keys.pointer, names=keys.names, defaults=keys.defaults)
        keys.assumed = outer.assumed
    return read_windows(keys, family, layers)


def _facts(keys: Keys, family: Family, shape: Shape, mixture: Mixture | None) -> _Facts:
    value_size = keys.maybe("v_head_dim", high=MOST_HEAD_SIZE)
    full = Attention(
        query_heads=shape.heads, kv_heads=shape.kv_heads, head_size=shape.head_size, value_head_size=value_size
    )
    sliding = _sliding(keys, full)
    norms = 2 * shape.head_size if family.qk_norm == "head" else 0
    heads = keys.size("index_n_heads", 0, low=0, high=MOST_HEADS) if family.indexed else 0
    indexer = Indexer(heads=heads, head_size=keys.size("index_head_dim", high=MOST_HEAD_SIZE)) if heads else None
    dense = keys.size("dense_intermediate_size", keys.maybe("intermediate_size"), high=MOST_WIDTH)
    return _Facts(
        hidden=shape.hidden,
        full=full,
        full_small=norms + (shape.heads if keys.flag("add_full_attention_sink_bias") else 0),
        sliding=sliding,
        sliding_small=norms + (sliding.query_heads if keys.flag("add_swa_attention_sink_bias") else 0),
        dense=Dense(width=dense),
        mixture=mixture,
        indexer=indexer,
        head_gate=family.gate == "head",
    )


def _sliding(keys: Keys, full: Attention) -> Attention:
    """The sliding layers' attention: their own counts and sizes where the config gives them."""
    other = keys.within("attention_other_setting")
    named = other.maybe("num_attention_heads", high=MOST_HEADS) if other else None
    heads = keys.size("swa_num_attention_heads", named or full.query_heads, high=MOST_HEADS)
    kv_heads = keys.size("swa_num_key_value_heads", full.kv_heads, high=MOST_HEADS)
    divisible(
        heads, keys.where("swa_num_attention_heads"), divisor=kv_heads, other=keys.where("swa_num_key_value_heads")
    )
    return Attention(
        query_heads=heads,
        kv_heads=kv_heads,
        head_size=keys.size("swa_head_dim", full.head_size, high=MOST_HEAD_SIZE),
        value_head_size=keys.maybe("swa_v_head_dim", high=MOST_HEAD_SIZE) or full.value_head_size,
        span=Span.SLIDING,
    )


def _indexed(keys: Keys, sparse: Sequence[bool], layers: int) -> Sequence[bool]:
    """Which layers pick blocks with an indexer: those that are listed as sparse, else those with experts."""
    found = keys.array("layer_types", length=layers)
    if found is not None:
        return [kind == "minimax_m3_sparse" for kind in found[1]]
    config = keys.within("sparse_attention_config")
    marks = config.integers("sparse_attention_freq", low=0, high=1, length=layers) if config else None
    return sparse if marks is None else [bool(mark) for mark in marks]


def _layer(facts: _Facts, window: int | None, sparse: bool, indexed: bool) -> LayerGroup:  # noqa: FBT001 - the stack's key
    attention = facts.full if window is None else msgspec.structs.replace(facts.sliding, window_tokens=window)
    small = 2 * facts.hidden + (facts.full_small if window is None else facts.sliding_small)
    indexer = facts.indexer if indexed else None
    if indexer:
        attention = msgspec.structs.replace(attention, indexer=indexer)
        small += 2 * indexer.head_size
    blocks: list[AnyBlock] = [attention]
    if facts.head_gate:
        gate = Matrix(role="g_proj", inputs=facts.hidden, outputs=attention.query_heads)
        blocks.append(Matrices(matrices=(gate,)))
    if sparse and facts.mixture:
        small += facts.mixture.block.experts if facts.mixture.router_bias else 0
        return LayerGroup(blocks=(*blocks, facts.mixture.block), small_parameters=small)
    return LayerGroup(blocks=(*blocks, facts.dense), small_parameters=small)
