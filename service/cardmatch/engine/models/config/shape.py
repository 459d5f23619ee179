"""The sizes that every decoder has, read from its keys."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.config.dialects import Family, Flag
from cardmatch.engine.models.config.keys import Keys, contradiction, divisible

MOST_HIDDEN = 1 << 17
MOST_LAYERS = 1024
MOST_HEADS = 4096
MOST_HEAD_SIZE = 8192
MOST_WIDTH = 1 << 22
MOST_VOCABULARY = 1 << 24
MOST_CONTEXT = 1 << 30
_MOST_WIDER = 8
"""No known model projects to more than four times the hidden size, so more than eight is a mistake."""


class Shape(msgspec.Struct, frozen=True):
    """Sizes of a decoder: hidden, layers, query heads, key-value heads, size of a head, vocabulary."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    context: int | None


def read_shape(keys: Keys, family: Family) -> Shape:
    """The common sizes, checked against each other. Raises Invalid."""
    hidden = read_hidden(keys)
    heads = keys.size("num_attention_heads", high=MOST_HEADS)
    kv_heads = _KV_HEADS[family.kv_heads](keys, heads)
    divisible(heads, keys.where("num_attention_heads"), divisor=kv_heads, other=keys.where("num_key_value_heads"))
    return Shape(
        hidden=hidden,
        layers=read_layers(keys),
        heads=heads,
        kv_heads=kv_heads,
        head_size=read_head_size(keys, hidden, heads),
        vocabulary=read_vocabulary(keys),
        context=read_context(keys),
    )


def read_hidden(keys: Keys) -> int:
    """Width of the residual stream."""
    return keys.size("hidden_size", high=MOST_HIDDEN)


def read_layers(keys: Keys) -> int:
    """Number of layers."""
    return keys.size("num_hidden_layers", high=MOST_LAYERS)


def read_vocabulary(keys: Keys) -> int:
    """Rows of the embedding."""
    return keys.size("vocab_size", high=MOST_VOCABULARY)


def read_context(keys: Keys) -> int | None:
    """The longest context that the config declares."""
    return keys.maybe("max_position_embeddings", high=MOST_CONTEXT)


def read_head_size(keys: Keys, hidden: int, heads: int) -> int:
    """Size of a head: a key of its own, the class default, or the hidden size divided by the heads."""
    pointer = keys.where("num_attention_heads")
    size = keys.find("head_dim") and keys.maybe("head_dim", high=MOST_HEAD_SIZE)
    if not size and not keys.null("head_dim"):
        size = keys.maybe("head_dim", high=MOST_HEAD_SIZE)
    if not size:
        return divisible(hidden, keys.where("hidden_size"), divisor=heads, other=pointer)
    if not hidden / _MOST_WIDER <= size * heads <= hidden * _MOST_WIDER:
        contradiction(keys.where("head_dim"), value=size, expected=max(hidden // heads, 1), other=pointer)
    return size


def read_width(keys: Keys, family: Family, hidden: int) -> int:
    """Width of the dense feed-forward."""
    pointer = keys.where("intermediate_size")
    if family.width == "expansion":
        return int(hidden * keys.number("expansion_ratio", 4, low=1 / 64, high=64))
    if family.width == "four_times":
        return keys.size("intermediate_size", 4 * hidden, high=MOST_WIDTH)
    width = keys.size("intermediate_size", high=MOST_WIDTH)
    return divisible(width, pointer, divisor=2, other=pointer) if family.width == "half" else width


def decides(keys: Keys, flag: Flag) -> bool:
    """What *flag* says: a fact of the family, or the boolean key that it names."""
    return keys.flag(flag) if isinstance(flag, str) else flag


def _plain(keys: Keys, heads: int) -> int:
    if keys.null("num_key_value_heads"):
        return heads
    return keys.size("num_key_value_heads", heads, high=MOST_HEADS)


def _all(_: Keys, heads: int) -> int:
    return heads


def _multi_query(keys: Keys, heads: int) -> int:
    return 1 if keys.flag("multi_query", fallback=True) else heads


def _falcon(keys: Keys, heads: int) -> int:
    """Falcon's 7B has one key-value head by `multi_query`, its newer decoder `num_kv_heads`."""
    if keys.flag("new_decoder_architecture"):
        return keys.size("num_kv_heads", heads, high=MOST_HEADS)
    return _multi_query(keys, heads)


def _chatglm(keys: Keys, heads: int) -> int:
    return keys.size("multi_query_group_num", heads, high=MOST_HEADS) if keys.flag("multi_query_attention") else heads


_KV_HEADS = {
    "plain": _plain,
    "all": _all,
    "multi_query": _multi_query,
    "falcon": _falcon,
    "chatglm": _chatglm,
}


def rotary_elements(keys: Keys, family: Family, head_size: int, context: int | None) -> int:
    """Elements of the cos/sin table that engines keep: positions × rotary size.

    YaRN stretches the original context by its factor; a family with two kinds of layers has two tables.
    """
    share = family.rotary
    if not share or context is None:
        return 0
    share = keys.number("partial_rotary_factor", share, low=0, high=1)
    scaling = keys.within("rope_scaling")
    positions = context
    if scaling is not None and scaling.find("original_max_position_embeddings"):
        original = scaling.size("original_max_position_embeddings", high=MOST_CONTEXT)
        factor = scaling.number("factor", 1, low=0, high=1 << 20)
        positions = max(context, min(int(original * factor), MOST_CONTEXT))
    return positions * int(head_size * share)
