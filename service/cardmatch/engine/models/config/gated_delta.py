"""Gated DeltaNet with full attention every few layers: Qwen3-Next and Qwen3.5."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    Dense,
    LayerGroup,
    LinearAttention,
    LinearKind,
    StateDtypes,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, divisible
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.next_token import read_next_token
from cardmatch.engine.models.config.shape import (
    MOST_HEAD_SIZE,
    MOST_HEADS,
    MOST_LAYERS,
    Shape,
    read_shape,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_layer_types

_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


class _Facts(msgspec.Struct, frozen=True):
    """What all layers have in common."""

    shape: Shape
    linear: LinearAttention
    width: int
    mixture: Mixture | None


def read_gated_delta(keys: Keys, family: Family) -> Architecture:
    """Layers of gated delta rule and gated attention, dense or of experts. Raises Invalid."""
    shape = read_shape(keys, family)
    mixture = read_mixture(keys, family, shape.layers)
    sparse = mixture.sparse if mixture else (False,) * shape.layers
    width = 1 if all(sparse) else read_width(keys, family, shape.hidden)
    facts = _Facts(shape=shape, linear=_linear(keys), width=width, mixture=mixture)
    kinds = _kinds(keys, shape.layers)
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
        next_token_layers=read_next_token(keys, _layer(facts, "full_attention", mixture is not None), shape.hidden),
        state=StateDtypes(recurrent_bytes=state_bytes(keys, "mamba_ssm_dtype")),
    )


def state_bytes(keys: Keys, name: str) -> int | None:
    """Bytes per element of a recurrent state where the config says them."""
    return _STATE_BYTES.get(keys.text(name, "").removeprefix("torch."))


def _linear(keys: Keys) -> LinearAttention:
    key_heads = keys.size("linear_num_key_heads", high=MOST_HEADS)
    value_heads = keys.size("linear_num_value_heads", high=MOST_HEADS)
    divisible(value_heads, keys.at("linear_num_value_heads"), divisor=key_heads, other=keys.at("linear_num_key_heads"))
    return LinearAttention(
        variant=LinearKind.GATED_DELTA,
        key_heads=key_heads,
        value_heads=value_heads,
        key_head_size=keys.size("linear_key_head_dim", high=MOST_HEAD_SIZE),
        value_head_size=keys.size("linear_value_head_dim", high=MOST_HEAD_SIZE),
        convolution_width=keys.size("linear_conv_kernel_dim", high=64),
    )


def _kinds(keys: Keys, layers: int) -> list[str]:
    kinds = read_layer_types(keys, layers, ("full_attention", "linear_attention"))
    interval = keys.size("full_attention_interval", 4, high=MOST_LAYERS)
    if kinds is not None:
        return kinds
    return ["linear_attention" if (layer + 1) % interval else "full_attention" for layer in range(layers)]


def _layer(facts: _Facts, kind: str, sparse: bool) -> LayerGroup:  # noqa: FBT001 - unpacked from the stack's key
    shape, linear = facts.shape, facts.linear
    small = 2 * shape.hidden
    if kind == "full_attention":
        small += 2 * shape.head_size
        mixer: Attention | LinearAttention = Attention(
            query_heads=shape.heads, kv_heads=shape.kv_heads, head_size=shape.head_size, output_gate=True
        )
    else:
        mixer = linear
        channels = 2 * linear.key_heads * linear.key_head_size + linear.value_heads * linear.value_head_size
        small += channels * linear.convolution_width + 2 * linear.value_heads + linear.value_head_size
    if sparse and facts.mixture:
        return LayerGroup(blocks=(mixer, facts.mixture.block), small_parameters=small)
    return LayerGroup(blocks=(mixer, Dense(width=facts.width)), small_parameters=small)
