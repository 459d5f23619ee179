"""Encoder-decoders: T5 and Whisper. The decoder's cross-attention caches the encoder's output once per request."""

from __future__ import annotations

import msgspec

from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    CacheOwner,
    CrossAttention,
    Dense,
    Encoder,
    LayerGroup,
)
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, divisible
from cardmatch.engine.models.config.shape import (
    MOST_CONTEXT,
    MOST_HEADS,
    MOST_LAYERS,
    MOST_WIDTH,
    read_hidden,
    read_shape,
    read_vocabulary,
)

_HEAD_SIZE = 64
"""Every Whisper has heads of this size (Whisper, table 1)."""


def read_t5(keys: Keys, family: Family) -> Architecture:
    """T5 in its first, gated and encoder-only forms. Raises Invalid."""
    shape = read_shape(keys, family)
    hidden = shape.hidden
    gated = keys.flag("is_gated_act", "gated" in keys.text("feed_forward_proj"))
    dense = Dense(width=keys.size("intermediate_size", high=MOST_WIDTH), gated=gated)
    buckets = keys.size("relative_attention_num_buckets", 32, high=1 << 16)
    own = Attention(query_heads=shape.heads, kv_heads=shape.heads, head_size=shape.head_size)
    reading = msgspec.structs.replace(own, cache=CacheOwner.NONE)
    source = shape.context or 512
    encoder_layer = LayerGroup(blocks=(reading, dense), small_parameters=2 * hidden)
    outside = buckets * shape.heads + hidden
    found = keys.find("architectures")
    alone = found is not None and isinstance(found[1], list) and any("Encoder" in str(each) for each in found[1])
    if alone:
        return Architecture(
            family=keys.text("model_type", "unknown"),
            hidden_size=hidden,
            vocabulary_size=shape.vocabulary,
            layer_groups=(encoder_layer,),
            layer_order=(0,) * shape.layers,
            output_head=False,
            small_parameters=outside,
        )
    cross = CrossAttention(
        query_heads=shape.heads, kv_heads=shape.heads, head_size=shape.head_size, source_tokens=source
    )
    layers = keys.size("num_decoder_layers", shape.layers, high=MOST_LAYERS)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=shape.vocabulary,
        layer_groups=(LayerGroup(blocks=(own, cross, dense), small_parameters=3 * hidden),),
        layer_order=(0,) * layers,
        small_parameters=outside,
        encoder=Encoder(
            hidden_size=hidden,
            layer=encoder_layer,
            layers=shape.layers,
            source_tokens=source,
            small_parameters=outside,
        ),
    )


def read_whisper(keys: Keys, _: Family) -> Architecture:
    """Whisper: two convolutions and an encoder over 1500 frames, a decoder with learned positions. Raises Invalid."""
    hidden = read_hidden(keys)
    source = keys.size("max_source_positions", high=MOST_CONTEXT)
    target = keys.size("max_target_positions", high=MOST_CONTEXT)
    bins = keys.size("num_mel_bins", high=1 << 12)
    biases = 3 * hidden  # the key projection has none
    own = _attention(keys, hidden, "decoder_attention_heads")
    cross = CrossAttention(
        query_heads=own.query_heads, kv_heads=own.kv_heads, head_size=own.head_size, source_tokens=source
    )
    width = keys.size("decoder_ffn_dim", high=MOST_WIDTH)
    layer = LayerGroup(
        blocks=(own, cross, Dense(width=width, gated=False)), small_parameters=2 * biases + width + 7 * hidden
    )
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=read_vocabulary(keys),
        layer_groups=(layer,),
        layer_order=(0,) * keys.size("decoder_layers", high=MOST_LAYERS),
        maximum_context_tokens=target,
        extra_embedding_parameters=target * hidden,
        small_parameters=2 * hidden,
        encoder=_encoder(keys, hidden, source, bins),
    )


def _encoder(keys: Keys, hidden: int, source: int, bins: int) -> Encoder:
    width = keys.size("encoder_ffn_dim", high=MOST_WIDTH)
    reading = msgspec.structs.replace(_attention(keys, hidden, "encoder_attention_heads"), cache=CacheOwner.NONE)
    convolutions = 3 * bins * hidden + 3 * hidden * hidden + 2 * hidden
    return Encoder(
        hidden_size=hidden,
        layer=LayerGroup(
            blocks=(reading, Dense(width=width, gated=False)), small_parameters=3 * hidden + width + 5 * hidden
        ),
        layers=keys.size("encoder_layers", high=MOST_LAYERS),
        source_tokens=source,
        small_parameters=convolutions + source * hidden + 2 * hidden,
    )


def _attention(keys: Keys, hidden: int, name: str) -> Attention:
    heads = keys.size(name, max(hidden // _HEAD_SIZE, 1), high=MOST_HEADS)
    size = divisible(hidden, keys.where("hidden_size"), divisor=heads, other=keys.at(name))
    return Attention(query_heads=heads, kv_heads=heads, head_size=size)
