"""Multi-head latent attention: DeepSeek-V2, V3 and V3.2, Kimi-K2, GLM-5, MiniCPM3, LongCat-Flash."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import (
    Architecture,
    Dense,
    Indexer,
    LatentAttention,
    LayerGroup,
    Matrices,
    Matrix,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, wrong_value
from cardmatch.engine.models.config.mixture import MOST_EXPERTS, Mixture, read_mixture
from cardmatch.engine.models.config.next_token import read_next_token
from cardmatch.engine.models.config.shape import (
    MOST_HEAD_SIZE,
    MOST_HEADS,
    MOST_HIDDEN,
    read_context,
    read_hidden,
    read_layers,
    read_vocabulary,
    read_width,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack


class _Facts(msgspec.Struct, frozen=True):
    """What all layers have in common."""

    hidden: int
    width: int
    attention: LatentAttention
    small: int
    indexer: Indexer | None
    mixture: Mixture | None


def read_latent(keys: Keys, family: Family) -> Architecture:
    """A decoder with latent attention, dense and expert layers. Raises Invalid."""
    hidden, layers = read_hidden(keys), read_layers(keys)
    mixture = read_mixture(keys, family, layers)
    attention = read_latent_attention(keys, hidden)
    sparse = mixture.sparse if mixture else (False,) * layers
    facts = _Facts(
        hidden=hidden,
        width=1 if all(sparse) else read_width(keys, family, hidden),
        attention=attention,
        small=2 * hidden + _biases(keys, attention, hidden),
        indexer=_indexer(keys),
        mixture=mixture,
    )
    groups, order = stack(zip(sparse, _indexed(keys, facts, layers), strict=True), lambda key: _layer(facts, *key))
    context = read_context(keys)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=read_vocabulary(keys),
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=context,
        small_parameters=hidden,
        rotary_cache_elements=rotary_elements(keys, family, attention.rope_head_size, context),
        next_token_layers=read_next_token(keys, _layer(facts, mixture is not None, facts.indexer is not None), hidden),
    )


def read_longcat(keys: Keys, family: Family) -> Architecture:
    """LongCat-Flash: each layer has attention and a dense feed-forward twice, and one mixture beside them.

    Some of the experts that the router chooses from compute nothing and have no weights. Raises Invalid.
    """
    hidden, layers = read_hidden(keys), read_layers(keys)
    mixture = read_mixture(keys, family, layers)
    if mixture is None:
        keys.missing("n_routed_experts")
    attention = read_latent_attention(keys, hidden)
    dense = Dense(width=read_width(keys, family, hidden))
    small = 2 * hidden + latent_norms(attention) + _biases(keys, attention, hidden)
    empty = keys.size("zero_expert_num", 0, low=0, high=MOST_EXPERTS)
    rows = Matrices(matrices=(Matrix(role="router", inputs=hidden, outputs=empty),)) if empty else None
    context = read_context(keys)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=read_vocabulary(keys),
        layer_groups=(
            LayerGroup(
                blocks=(attention, dense, mixture.block, *((rows,) if rows else ())),
                small_parameters=small + mixture.block.experts + empty,
            ),
            LayerGroup(blocks=(attention, dense), small_parameters=small),
        ),
        layer_order=(0, 1) * layers,
        maximum_context_tokens=context,
        small_parameters=hidden,
        rotary_cache_elements=rotary_elements(keys, family, attention.rope_head_size, context),
    )


def read_latent_attention(keys: Keys, hidden: int) -> LatentAttention:
    """The attention itself. `q_lora_rank: null` means no query compression, which absence does not."""
    heads = keys.size("num_attention_heads", high=MOST_HEADS)
    query_rank = None if keys.null("q_lora_rank") else keys.maybe("q_lora_rank", high=MOST_HIDDEN)
    return LatentAttention(
        heads=heads,
        kv_rank=keys.size("kv_lora_rank", high=MOST_HIDDEN),
        no_rope_head_size=keys.size("qk_nope_head_dim", high=MOST_HEAD_SIZE),
        rope_head_size=keys.size("qk_rope_head_dim", high=MOST_HEAD_SIZE),
        value_head_size=keys.size("v_head_dim", max(hidden // heads, 1), high=MOST_HEAD_SIZE),
        query_rank=query_rank,
        output_gate=keys.flag("mla_use_output_gate"),
    )


def latent_norms(attention: LatentAttention) -> int:
    """Elements of the norms on the latents."""
    return attention.kv_rank + (attention.query_rank or 0)


def _biases(keys: Keys, attention: LatentAttention, hidden: int) -> int:
    if not keys.flag("attention_bias"):
        return 0
    return (attention.query_rank or 0) + attention.kv_rank + attention.rope_head_size + hidden


def _indexer(keys: Keys) -> Indexer | None:
    heads = keys.maybe("index_n_heads", low=0, high=MOST_HEADS)
    return Indexer(heads=heads, head_size=keys.size("index_head_dim", 128, high=MOST_HEAD_SIZE)) if heads else None


def _indexed(keys: Keys, facts: _Facts, layers: int) -> list[bool]:
    """Which layers have an indexer of their own: all, or those that `indexer_types` does not call shared."""
    found = keys.array("indexer_types", length=layers)
    if found is None or facts.indexer is None:
        return [facts.indexer is not None] * layers
    pointer, items = found
    for index, item in enumerate(items):
        if item not in {"full", "shared"}:
            wrong_value(str(item), f"{pointer}/{index}", ("full", "shared"))
    return [item == "full" for item in items]


def _layer(facts: _Facts, sparse: bool, indexed: bool) -> LayerGroup:  # noqa: FBT001 - unpacked from the stack's key
    indexer = facts.indexer if indexed else None
    attention = msgspec.structs.replace(facts.attention, indexer=indexer)
    small = facts.small + latent_norms(attention) + (2 * indexer.head_size if indexer else 0)
    if sparse and facts.mixture:
        small += facts.mixture.block.experts if facts.mixture.router_bias else 0
        return LayerGroup(blocks=(attention, facts.mixture.block), small_parameters=small)
    return LayerGroup(blocks=(attention, Dense(width=facts.width)), small_parameters=small)
