"""Attention beside state-space layers: Jamba, Bamba, Granite 4, Falcon-H1."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cardmatch.engine.models.architecture import Architecture, Attention, Dense, LayerGroup, Mamba
from cardmatch.engine.models.config.decoder import attention_small
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.config.mamba import mamba_one, mamba_small, mamba_two
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.shape import (
    MOST_LAYERS,
    MOST_WIDTH,
    Shape,
    decides,
    read_shape,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_layer_types


class _Facts(msgspec.Struct, frozen=True):
    """What the layers have in common: mixers with the small elements that go with each, and feed-forwards."""

    shape: Shape
    attention: Attention
    attention_small: int
    mamba: Mamba
    mamba_small: int
    dense: Dense
    mlp_bias: bool
    mixture: Mixture | None


def read_hybrid(keys: Keys, family: Family) -> Architecture:
    """Layers of attention, Mamba or both, each with a feed-forward. Raises Invalid."""
    shape = read_shape(keys, family)
    mixture = read_mixture(keys, family, shape.layers)
    facts = _facts(keys, family, shape, mixture)
    kinds = _KINDS[family.layers](keys, shape.layers)
    sparse = _sparse(keys, mixture, shape.layers)
    groups, order = stack(zip(kinds, sparse, strict=True), lambda key: _layer(facts, *key))
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


def _facts(keys: Keys, family: Family, shape: Shape, mixture: Mixture | None) -> _Facts:
    hidden = shape.hidden
    block = mamba_two(keys, hidden) if family.version == 2 else mamba_one(keys, hidden)
    small = mamba_small(keys, block, hidden, norm=decides(keys, family.mamba_norm))
    if family.version == 1:  # Jamba normalises the step, B and C
        small += (block.time_step_rank or 0) + 2 * block.state_size
    width = keys.maybe("shared_expert_intermediate_size", high=MOST_WIDTH) if family.layers == "granite" else None
    return _Facts(
        shape=shape,
        attention=Attention(query_heads=shape.heads, kv_heads=shape.kv_heads, head_size=shape.head_size),
        attention_small=attention_small(keys, family, shape),
        mamba=block,
        mamba_small=small,
        dense=Dense(width=width or read_width(keys, family, hidden)),
        mlp_bias=decides(keys, family.mlp_bias),
        mixture=mixture,
    )


def _layer(facts: _Facts, kind: str, sparse: bool) -> LayerGroup:  # noqa: FBT001 - unpacked from the stack's key
    hidden = facts.shape.hidden
    blocks: list[Attention | Mamba] = []
    small = 2 * hidden
    if kind in {"full_attention", "hybrid"}:
        blocks.append(facts.attention)
        small += facts.attention_small
    if kind in {"mamba", "hybrid"}:
        blocks.append(facts.mamba)
        small += facts.mamba_small
    if sparse and facts.mixture:
        return LayerGroup(blocks=(*blocks, facts.mixture.block), small_parameters=small)
    small += 2 * facts.dense.width + hidden if facts.mlp_bias else 0
    return LayerGroup(blocks=(*blocks, facts.dense), small_parameters=small)


def _sparse(keys: Keys, mixture: Mixture | None, layers: int) -> Sequence[bool]:
    """Jamba's experts come in every `expert_layer_period`-th layer, others' in all or none."""
    if mixture is None:
        return [False] * layers
    period = keys.maybe("expert_layer_period", high=MOST_LAYERS)
    if period is None:
        return mixture.sparse
    offset = keys.size("expert_layer_offset", 0, low=0, high=MOST_LAYERS)
    return [layer >= offset and (layer - offset) % period == 0 for layer in range(layers)]


def _periodic(keys: Keys, layers: int) -> list[str]:
    found = read_layer_types(keys, layers, ("full_attention", "mamba"))
    if found is not None:
        return found
    period = keys.size("attn_layer_period", high=MOST_LAYERS)
    offset = keys.size("attn_layer_offset", low=0, high=MOST_LAYERS)
    return ["full_attention" if (layer - offset) % period == 0 else "mamba" for layer in range(layers)]


def _granite(keys: Keys, layers: int) -> list[str]:
    return read_layer_types(keys, layers, ("full_attention", "mamba")) or ["full_attention"] * layers


def _bamba(keys: Keys, layers: int) -> list[str]:
    chosen = keys.integers("attn_layer_indices", low=0, high=MOST_LAYERS)
    if chosen is None:
        return _granite(keys, layers) if keys.find("layer_types") else ["mamba"] * layers
    return ["full_attention" if layer in chosen else "mamba" for layer in range(layers)]


def _both(_: Keys, layers: int) -> list[str]:
    return ["hybrid"] * layers


_KINDS = {"periodic": _periodic, "granite": _granite, "bamba": _bamba, "both": _both}
