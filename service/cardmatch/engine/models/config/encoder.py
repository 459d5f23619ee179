"""Encoders: BERT and its kin, ModernBERT, Nomic, the text half of CLIP."""

from __future__ import annotations

from cardmatch.engine.models.architecture import Architecture, Attention, CacheOwner, Dense, LayerGroup, Span
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, wrong_type
from cardmatch.engine.models.config.shape import (
    MOST_CONTEXT,
    MOST_HIDDEN,
    MOST_LAYERS,
    Shape,
    decides,
    read_shape,
    read_width,
)
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.config.windows import read_layer_types

_MOST_LABELS = 1 << 20


def read_encoder(keys: Keys, family: Family) -> Architecture:
    """A stack of bidirectional layers with its tables and the task head that its class has. Raises Invalid."""
    shape = read_shape(keys, family)
    hidden = shape.hidden
    dense = Dense(width=read_width(keys, family, hidden), gated=family.gated)
    biases = 3 * hidden if decides(keys, family.query_bias) else 0
    biases += hidden if decides(keys, family.output_bias) else 0
    biases += (1 + dense.gated) * dense.width + hidden if decides(keys, family.mlp_bias) else 0
    small = family.norms * family.norm_width * hidden + biases

    def layer(window: int | None) -> LayerGroup:
        return LayerGroup(blocks=(_attention(shape, window), dense), small_parameters=small)

    groups, order = stack(_windows(keys, shape), layer)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=shape.vocabulary,
        embedding_size=keys.maybe("embedding_size"),
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=_longest(keys, family, shape),
        output_head=False,
        extra_embedding_parameters=_tables(keys, family, shape),
        small_parameters=_outside(keys, family, shape),
    )


def _longest(keys: Keys, family: Family, shape: Shape) -> int | None:
    """Tokens that have a position: RoBERTa and its kin count from the one after padding (modeling_roberta.py)."""
    if shape.context is None or family.positions != "after_padding":
        return shape.context
    padding = keys.size("pad_token_id", 1, low=0, high=1 << 16)
    return max(1, shape.context - padding - 1)


def _attention(shape: Shape, window: int | None) -> Attention:
    return Attention(
        query_heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_size=shape.head_size,
        span=Span.FULL if window is None else Span.SLIDING,
        window_tokens=window,
        cache=CacheOwner.NONE,
    )


def _windows(keys: Keys, shape: Shape) -> list[int | None]:
    """ModernBERT sees everything only in every n-th layer."""
    window = keys.maybe("local_attention", low=0, high=MOST_CONTEXT)
    if not window:
        return [None] * shape.layers
    kinds = read_layer_types(keys, shape.layers, ("full_attention", "sliding_attention"))
    if kinds is not None:
        return [window if kind == "sliding_attention" else None for kind in kinds]
    every = keys.size("global_attn_every_n_layers", 1, high=MOST_LAYERS)
    return [window if layer % every else None for layer in range(shape.layers)]


def _tables(keys: Keys, family: Family, shape: Shape) -> int:
    """Position and token-type tables."""
    rows = keys.size("type_vocab_size", 0, low=0, high=1 << 16)
    if family.positions != "none":
        rows += shape.context or keys.size("max_position_embeddings")
    return rows * shape.hidden


def _outside(keys: Keys, family: Family, shape: Shape) -> int:
    """Norms outside the layers, relative positions, and the head of the task."""
    hidden = shape.hidden
    small = (family.embedding_norms + family.final_norms * family.norm_width) * hidden
    small += keys.size("relative_attention_num_buckets", 0, low=0, high=1 << 16) * shape.heads
    return small + _head(keys, family, shape)


def _head(keys: Keys, family: Family, shape: Shape) -> int:
    """Elements of the task head: language modelling, classification, or the pooler of a bare model."""
    hidden = shape.hidden
    name = _class(keys)
    pooler = hidden * hidden + hidden if family.pooler else 0
    if family.head == "modern":
        return hidden * hidden + hidden + shape.vocabulary if not name.endswith("Model") else 0
    if name.endswith("WithProjection"):
        return hidden * keys.size("projection_dim", hidden, high=MOST_HIDDEN)
    if family.head == "none":
        return 0
    if name.endswith("PreTraining"):
        return pooler + hidden * hidden + 3 * hidden + shape.vocabulary + 2 * hidden + 2
    if name.endswith(("MaskedLM", "LMHeadModel", "CausalLM")):
        return hidden * hidden + 3 * hidden + shape.vocabulary
    labels = _labels(keys)
    if name.endswith("SequenceClassification"):
        return hidden * hidden + hidden + (hidden + 1) * labels
    if name.endswith("TokenClassification"):
        return (hidden + 1) * labels
    return pooler


def _class(keys: Keys) -> str:
    found = keys.find("architectures")
    if found is None:
        return ""
    key, names = found
    if not isinstance(names, list):
        wrong_type(names, keys.at(key), "array")
    return names[0] if names and isinstance(names[0], str) else ""


def _labels(keys: Keys) -> int:
    labels = keys.within("id2label")
    return len(labels.values) if labels else keys.size("num_labels", 2, high=_MOST_LABELS)
