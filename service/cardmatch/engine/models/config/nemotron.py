"""NVIDIA's own layer layouts: Nemotron-H (a letter per layer) and Nemotron-NAS (a block config per layer)."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    Dense,
    Experts,
    LayerGroup,
    Mamba,
    Matrices,
    Matrix,
    StateDtypes,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.gated_delta import state_bytes
from cardmatch.engine.models.config.keys import Keys, contradiction, divisible, wrong_type, wrong_value
from cardmatch.engine.models.config.mamba import mamba_small, mamba_two
from cardmatch.engine.models.config.mixture import MOST_EXPERTS, read_chosen
from cardmatch.engine.models.config.next_token import read_next_token
from cardmatch.engine.models.config.shape import (
    MOST_HEADS,
    MOST_HIDDEN,
    MOST_LAYERS,
    MOST_WIDTH,
    Shape,
    read_shape,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import LAYER_TYPES

_LETTERS = {"M": "mamba", "*": "full_attention", "-": "mlp", "E": "moe"}


class _Facts(msgspec.Struct, frozen=True):
    """What layers of one kind have in common."""

    hidden: int
    attention: Attention
    mamba: Mamba
    mamba_small: int
    dense: Dense
    experts: Experts | None


def read_nemotron_h(keys: Keys, family: Family) -> Architecture:
    """One block a layer, named by a letter: Mamba-2, attention, feed-forward or experts. Raises Invalid."""
    kinds = _letters(keys)
    shape = read_shape(keys, family)
    block = mamba_two(keys, shape.hidden)
    facts = _Facts(
        hidden=shape.hidden,
        attention=_attention(shape),
        mamba=block,
        mamba_small=mamba_small(keys, block, shape.hidden),
        dense=Dense(width=read_width(keys, family, shape.hidden), gated=False),
        experts=_experts(keys) if "moe" in kinds else None,
    )
    groups, order = stack(kinds, lambda kind: _layer(facts, kind))
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=shape.context,
        small_parameters=shape.hidden,
        next_token_layers=read_next_token(keys, _drafter(facts), shape.hidden) if facts.experts else None,
        state=StateDtypes(recurrent_bytes=state_bytes(keys, "mamba_ssm_cache_dtype")),
    )


def _letters(keys: Keys) -> list[str]:
    """Kind of each layer, from the pattern string or `layers_block_type`."""
    text = keys.text("hybrid_override_pattern")
    layers = keys.maybe("num_hidden_layers", high=MOST_LAYERS)
    if text:
        pointer = keys.at("hybrid_override_pattern")
        for letter in text:
            if letter not in _LETTERS:
                wrong_value(letter, pointer, tuple(_LETTERS))
        if keys.find("num_hidden_layers") and len(text) != layers:
            contradiction(pointer, value=len(text), expected=layers or 0, other=keys.where("num_hidden_layers"))
        return [_LETTERS[letter] for letter in text]
    found = keys.array("layer_types", length=layers if keys.find("num_hidden_layers") else None, most=MOST_LAYERS)
    if found is None or not found[1]:
        keys.missing("hybrid_override_pattern")
    pointer, items = found
    kinds = []
    for index, item in enumerate(items):
        kind = "mamba" if item == "linear_attention" else LAYER_TYPES.get(item) if isinstance(item, str) else None
        if kind not in _LETTERS.values():
            wrong_value(str(item), f"{pointer}/{index}", tuple(_LETTERS.values()))
        kinds.append(str(kind))
    return kinds


def _attention(shape: Shape) -> Attention:
    return Attention(query_heads=shape.heads, kv_heads=shape.kv_heads, head_size=shape.head_size)


def _experts(keys: Keys) -> Experts:
    """Experts without a gate; latent ones see a narrower stream (Nemotron-3-Super)."""
    experts = keys.size("num_experts", high=MOST_EXPERTS)
    shared = keys.size("n_shared_experts", 1, low=0, high=64)
    width = keys.size("shared_expert_intermediate_size", 0, low=0, high=MOST_WIDTH)
    return Experts(
        experts=experts,
        experts_per_token=read_chosen(keys, experts),
        width=keys.size("moe_intermediate_size", high=MOST_WIDTH),
        gated=False,
        shared_width=shared * width,
        input_size=keys.maybe("moe_latent_size", high=MOST_HIDDEN),
    )


def _layer(facts: _Facts, kind: str) -> LayerGroup:
    if kind == "mamba":
        return LayerGroup(blocks=(facts.mamba,), small_parameters=facts.hidden + facts.mamba_small)
    if kind == "moe" and facts.experts:
        return LayerGroup(blocks=(facts.experts,), small_parameters=facts.hidden + facts.experts.experts)
    return LayerGroup(
        blocks=(facts.attention if kind == "full_attention" else facts.dense,), small_parameters=facts.hidden
    )


def _drafter(facts: _Facts) -> LayerGroup:
    """The multi-token-prediction layer: attention, then experts."""
    experts = facts.experts.experts if facts.experts else 0
    blocks: tuple[AnyBlock, ...] = (facts.attention, facts.experts) if facts.experts else (facts.attention,)
    return LayerGroup(blocks=blocks, small_parameters=2 * facts.hidden + experts)


def read_nemotron_nas(keys: Keys, family: Family) -> Architecture:
    """Layers pruned one by one: each with its own key-value heads and width, or none. Raises Invalid."""
    found = keys.array("block_configs", most=MOST_LAYERS)
    if found is None or not found[1]:
        keys.missing("block_configs")
    shape = read_shape(keys, family)
    if len(found[1]) != shape.layers:
        other = keys.where("num_hidden_layers")
        contradiction(found[0], value=len(found[1]), expected=shape.layers, other=other)
    layers = [_block(item, f"{found[0]}/{index}", shape) for index, item in enumerate(found[1])]
    groups, order = stack(layers, lambda blocks: _searched(blocks, shape.hidden))
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


def _block(item: Any, pointer: str, shape: Shape) -> tuple[AnyBlock, ...]:
    if not isinstance(item, dict):
        wrong_type(item, pointer, "object")
    block = Keys(item, pointer=pointer)
    attention, feed_forward = block.within("attention"), block.within("ffn")
    if attention is None:
        block.missing("attention")
    if feed_forward is None:
        block.missing("ffn")
    blocks: list[AnyBlock] = []
    linear = Matrices(matrices=(Matrix(role="linear_attn", inputs=shape.hidden, outputs=shape.hidden),))
    per_key = attention.maybe("n_heads_in_group", high=MOST_HEADS)
    if per_key:
        heads = divisible(shape.heads, attention.at("n_heads_in_group"), divisor=per_key, other=pointer)
        blocks.append(msgspec.structs.replace(_attention(shape), kv_heads=heads))
    elif attention.flag("replace_with_linear"):
        blocks.append(linear)
    share = feed_forward.number("ffn_mult", 0, low=0, high=64)
    if share:
        width = int(2 * share * shape.hidden / 3)
        blocks.append(Dense(width=-(-width // 256) * 256))
    elif feed_forward.flag("replace_with_linear"):
        blocks.append(linear)
    return tuple(blocks)


def _searched(blocks: tuple[AnyBlock, ...], hidden: int) -> LayerGroup:
    biases = sum(hidden for block in blocks if isinstance(block, Matrices))
    return LayerGroup(blocks=blocks, small_parameters=len(blocks) * hidden + biases)
