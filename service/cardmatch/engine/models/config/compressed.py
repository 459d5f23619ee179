"""Compressed attention with hyper-connections: DeepSeek-V4."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import Architecture, CompressedAttention, Indexer, LayerGroup
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, contradiction, divisible, integer, wrong_type, wrong_value
from cardmatch.engine.models.config.mixture import Mixture, read_mixture
from cardmatch.engine.models.config.next_token import read_next_token
from cardmatch.engine.models.config.shape import (
    MOST_CONTEXT,
    MOST_HEAD_SIZE,
    MOST_HEADS,
    MOST_HIDDEN,
    read_context,
    read_hidden,
    read_layers,
    read_vocabulary,
    rotary_elements,
)
from cardmatch.engine.models.config.stack import stack

_INDEXED_RATIO = 4
"""Layers that keep one entry per four tokens choose among them with an indexer (modeling_deepseek_v4.py, CSA)."""


class _Facts(msgspec.Struct, frozen=True):
    """What all layers have in common; `streams` is the width of the hyper-connections."""

    hidden: int
    attention: CompressedAttention
    indexer: Indexer
    mixture: Mixture
    streams: int


def read_compressed(keys: Keys, family: Family) -> Architecture:
    """Layers that differ in how far they compress the cache, experts everywhere. Raises Invalid."""
    hidden, layers = read_hidden(keys), read_layers(keys)
    mixture = read_mixture(keys, family, layers)
    if mixture is None:
        keys.missing("n_routed_experts")
    attention = _attention(keys)
    facts = _Facts(
        hidden=hidden,
        attention=attention,
        indexer=Indexer(
            heads=keys.size("index_n_heads", high=MOST_HEADS),
            head_size=keys.size("index_head_dim", high=MOST_HEAD_SIZE),
        ),
        mixture=mixture,
        streams=keys.size("hc_mult", high=64),
    )
    groups, order = stack(_ratios(keys, layers), lambda ratio: _layer(facts, ratio))
    streams, context = facts.streams, read_context(keys)
    rope = keys.size("qk_rope_head_dim", high=MOST_HEAD_SIZE)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=read_vocabulary(keys),
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=context,
        small_parameters=hidden + streams * streams * hidden + streams + 1,
        rotary_cache_elements=2 * rotary_elements(keys, family, rope, context),
        next_token_layers=read_next_token(keys, _layer(facts, 0), hidden),
    )


def _attention(keys: Keys) -> CompressedAttention:
    heads, size = keys.size("num_attention_heads", high=MOST_HEADS), keys.size("head_dim", high=MOST_HEAD_SIZE)
    groups = keys.size("o_groups", high=MOST_HEADS)
    divisible(heads, keys.where("num_attention_heads"), divisor=groups, other=keys.at("o_groups"))
    return CompressedAttention(
        heads=heads,
        latent_size=size,
        ratio=0,
        window_tokens=keys.size("sliding_window", high=MOST_CONTEXT),
        query_rank=keys.size("q_lora_rank", high=MOST_HIDDEN),
        output_groups=groups,
        output_rank=keys.size("o_lora_rank", high=MOST_HIDDEN),
    )


def _ratios(keys: Keys, layers: int) -> list[int]:
    """Tokens per cache entry of each layer, 0 where only the window is kept; MTP layers come last and are left out."""
    found = keys.array("compress_ratios")
    if found is not None:
        pointer, items = found
        if not layers <= len(items) <= layers + 16:
            contradiction(pointer, value=len(items), expected=layers, other=keys.where("num_hidden_layers"))
        return [integer(item, f"{pointer}/{index}", low=0, high=1 << 16) for index, item in enumerate(items)][:layers]
    found = keys.array("layer_types", length=layers)
    if found is None:
        keys.missing("compress_ratios")
    pointer, items = found
    known = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    for index, item in enumerate(items):
        if not isinstance(item, str):
            wrong_type(item, f"{pointer}/{index}", "string")
        if item not in known:
            wrong_value(item, f"{pointer}/{index}", tuple(known))
    return [known[item] for item in items]


def _layer(facts: _Facts, ratio: int) -> LayerGroup:
    base, hidden, streams = facts.attention, facts.hidden, facts.streams
    indexer = facts.indexer if ratio == _INDEXED_RATIO else None
    attention = msgspec.structs.replace(base, ratio=ratio, indexer=indexer)
    small = 2 * hidden + base.query_rank + base.latent_size + base.heads
    if ratio:
        small += ratio * base.latent_size * (2 if indexer else 1) + base.latent_size
    if indexer:
        small += 2 * ratio * indexer.head_size + indexer.head_size
    mixing = (2 + streams) * streams
    small += 2 * (mixing * streams * hidden + mixing + 3)
    return LayerGroup(blocks=(attention, facts.mixture.block), small_parameters=small)
