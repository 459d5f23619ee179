"""The reader that most families share: attention of some span and a feed-forward, dense or of experts."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    Dense,
    LayerGroup,
    Matrices,
    Matrix,
    Span,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, divisible, wrong_value
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.next_token import read_next_token
from cardmatch.engine.models.config.shape import (
    MOST_HEADS,
    MOST_HIDDEN,
    MOST_WIDTH,
    Shape,
    decides,
    read_shape,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_windows


class _Facts(msgspec.Struct, frozen=True):
    """What all layers of a decoder have in common."""

    family: Family
    shape: Shape
    width: int
    mixture: Mixture | None
    attention_small: dict[int, int]
    mlp_bias: bool
    gate: str


def read_decoder(keys: Keys, family: Family) -> Architecture:
    """A decoder of attention and feed-forward layers. Raises Invalid."""
    shape = read_shape(keys, family)
    mixture = read_mixture(keys, family, shape.layers)
    windows = read_windows(keys, family, shape.layers)
    heads = _heads(keys, shape)
    facts = _Facts(
        family=family,
        shape=shape,
        width=_dense_width(keys, family, shape, mixture),
        mixture=mixture,
        attention_small={
            each: attention_small(keys, family, msgspec.structs.replace(shape, heads=each)) for each in set(heads)
        },
        mlp_bias=decides(keys, family.mlp_bias),
        gate=_gate(keys) if family.gate == "key" else family.gate,
    )
    sparse = mixture.sparse if mixture else (False,) * shape.layers
    embedding_size = keys.maybe("word_embed_proj_dim", high=MOST_HIDDEN)
    groups, order = stack(zip(windows, sparse, heads, strict=True), lambda key: _layer(facts, *key))
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=shape.context,
        embedding_size=embedding_size,
        small_parameters=_outside(keys, family, shape, embedding_size),
        extra_embedding_parameters=_positions(keys, family, shape),
        rotary_cache_elements=rotary_elements(keys, family, shape.head_size, shape.context),
        next_token_layers=read_next_token(keys, groups[order[-1]], shape.hidden) if family.next_token else None,
    )


def read_falcon(keys: Keys, family: Family) -> Architecture:
    """Falcon: parallel attention has one norm, the newer decoder two, and some have alibi instead of rotary."""
    newer, parallel = keys.flag("new_decoder_architecture"), keys.flag("parallel_attn")
    norms = 2 if not parallel else keys.size("num_ln_in_parallel_attn", 2 if newer else 1, high=2)
    rotary = 0.0 if keys.flag("alibi") else family.rotary
    return read_decoder(keys, msgspec.structs.replace(family, norms=norms, rotary=rotary))


def attention_small(keys: Keys, family: Family, shape: Shape) -> int:
    """Elements of biases, query and key norms, and sinks of one layer's attention."""
    queries, cached = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    small = queries + 2 * cached if decides(keys, family.query_bias) else 0
    small += shape.hidden if decides(keys, family.output_bias) else 0
    small += shape.heads if decides(keys, family.sinks) else 0
    if family.qk_norm != "none" and decides(keys, family.qk_norm_if):
        small += 2 * shape.head_size if family.qk_norm == "head" else queries + cached
    return small


def _heads(keys: Keys, shape: Shape) -> list[int]:
    """Query heads of each layer, which may differ (Laguna)."""
    found = keys.integers("num_attention_heads_per_layer", low=1, high=MOST_HEADS, length=shape.layers)
    if found is None:
        return [shape.heads] * shape.layers
    where = keys.where("num_attention_heads_per_layer")
    for index, heads in enumerate(found):
        divisible(heads, f"{where}/{index}", divisor=shape.kv_heads, other=keys.where("num_key_value_heads"))
    return list(found)


def _gate(keys: Keys) -> str:
    """Laguna's `gating`: true or "per-head" gates each head, "per-element" each element."""
    found = keys.find("gating")
    value = True if found is None else found[1]
    if value is True or value == "per-head":
        return "head"
    if value != "per-element":
        wrong_value(str(value), keys.where("gating"), ("per-head", "per-element"))
    return "whole"


def _layer(facts: _Facts, window: int | None, sparse: bool, heads: int) -> LayerGroup:  # noqa: FBT001 - the stack's key
    family, shape = facts.family, facts.shape
    small = facts.attention_small[heads] + family.norms * family.norm_width * shape.hidden + family.extra
    attention = Attention(
        query_heads=heads,
        kv_heads=shape.kv_heads,
        head_size=shape.head_size,
        span=Span.FULL if window is None else Span.SLIDING,
        window_tokens=window,
        output_gate=facts.gate == "whole",
    )
    blocks: list[AnyBlock] = [attention]
    if facts.gate == "head":
        blocks.append(Matrices(matrices=(Matrix(role="g_proj", inputs=shape.hidden, outputs=heads),)))
    if sparse and facts.mixture:
        block = facts.mixture.block
        small += block.experts if facts.mixture.router_bias else 0
        bias = (1 + block.gated) * block.width + shape.hidden if facts.mixture.expert_bias else 0
        return LayerGroup(blocks=(*blocks, block), small_parameters=small, expert_small_parameters=bias)
    dense = Dense(width=facts.width, gated=family.gated)
    small += (1 + dense.gated) * dense.width + shape.hidden if facts.mlp_bias else 0
    return LayerGroup(blocks=(*blocks, dense), small_parameters=small)


def _dense_width(keys: Keys, family: Family, shape: Shape, mixture: Mixture | None) -> int:
    """Width of the dense layers; not asked for where every layer is a mixture."""
    if mixture and all(mixture.sparse):
        return 1
    if mixture and family.experts and family.experts.dense_width != "intermediate_size":
        return keys.size(family.experts.dense_width, keys.maybe("intermediate_size"), high=MOST_WIDTH)
    return read_width(keys, family, shape.hidden)


def _outside(keys: Keys, family: Family, shape: Shape, embedding_size: int | None) -> int:
    """Elements outside layers and tables: final norm, head bias, norm of the embedding, projections around it (OPT)."""
    small = family.embedding_norms * shape.hidden
    small += family.final_norms * family.norm_width * shape.hidden if decides(keys, family.final_norm_if) else 0
    small += shape.vocabulary if decides(keys, family.head_bias) else 0
    if embedding_size not in {None, shape.hidden}:
        small += 2 * (embedding_size or 0) * shape.hidden
    return small


def _positions(keys: Keys, family: Family, shape: Shape) -> int:
    """Elements of learned position tables; OPT's has two rows more than positions."""
    if family.positions == "none":
        return 0
    rows = shape.context or keys.size("max_position_embeddings")
    return (rows + (2 if family.positions == "offset_two" else 0)) * shape.hidden
