"""What a model computes and what it caches, layer group by layer group.

A layer is a tuple of blocks: mixers (attention in its variants, linear attention, state space) and feed-forwards.
Layers that are alike form a group; `layer_order` says which group each layer belongs to, first layer first. Everything
else (parameter counts, cache per token, LoRA targets, tensor-parallel shards) is derived from these facts by
arithmetic, so nothing here is redundant. All sizes are in elements, never bytes: number formats are the checkpoint's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

Size = Annotated[int, Meta(ge=1, le=1 << 24)]
SizeOrZero = Annotated[int, Meta(ge=0, le=1 << 40)]
Layers = Annotated[int, Meta(ge=1, le=4096)]


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """A part of a layer."""


class Span(StrEnum):
    """Which earlier tokens an attention layer sees."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"


class CacheOwner(StrEnum):
    """Whether a layer stores keys and values."""

    OWN = "own"
    SHARED = "shared"
    NONE = "none"


class Indexer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The small attention that picks the tokens of a sparse layer (DeepSeek-V3.2): its keys are cached too."""

    heads: Size
    head_size: Size


class Attention(Block, tag="attention", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Softmax attention: multi-head, multi-query or grouped-query; full, sliding or chunked.

    `cache: shared` reads another layer's cache and has no key and value projections (Gemma 3n/4); `cache: none` is an
    encoder. `keys_are_values` has one projection for both (Gemma 4), cached twice. `output_gate` doubles the query
    projection (Qwen3-Next). An `indexer` picks the blocks that a query sees (MiniMax-M3).
    """

    query_heads: Size
    kv_heads: Size
    head_size: Size
    value_head_size: Size | None = None
    span: Span = Span.FULL
    window_tokens: Size | None = None
    cache: CacheOwner = CacheOwner.OWN
    keys_are_values: bool = False
    output_gate: bool = False
    indexer: Indexer | None = None


class LatentAttention(Block, tag="mla", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Multi-head latent attention: one latent of `kv_rank + rope_head_size` elements per token, for all heads.

    `output_gate` adds a projection as wide as the values (Kimi-K3).
    """

    heads: Size
    kv_rank: Size
    no_rope_head_size: Size
    rope_head_size: Size
    value_head_size: Size
    query_rank: Size | None = None
    output_gate: bool = False
    indexer: Indexer | None = None


class CompressedAttention(
    Block, tag="compressed", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One latent per `ratio` tokens beside a sliding window of latents (DeepSeek-V4); ratio 0 has only the window.

    Queries come through `query_rank`; the output is projected in `output_groups` groups through `output_rank`. A layer
    with an indexer compresses with overlap, so its compressor is twice as wide.
    """

    heads: Size
    latent_size: Size
    ratio: SizeOrZero
    window_tokens: Size
    query_rank: Size
    output_groups: Size
    output_rank: Size
    indexer: Indexer | None = None


class LinearKind(StrEnum):
    """Which linear attention."""

    GATED_DELTA = "gated_delta"
    KDA = "kda"
    LIGHTNING = "lightning"


class LinearAttention(Block, tag="linear", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Linear attention with a state of `value_heads × key_head_size × value_head_size` and a short convolution."""

    variant: LinearKind
    key_heads: Size
    value_heads: Size
    key_head_size: Size
    value_head_size: Size
    convolution_width: SizeOrZero = 0
    full_rank_gate: Annotated[
        bool, Meta(description="Whether KDA's output gate is one matrix, not two of low rank.")
    ] = False


class Mamba(Block, tag="mamba", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A state-space layer with a state of `inner_size × state_size` and a convolution over
    `inner_size + 2 × groups × state_size` channels (version 1: `inner_size`).
    """

    version: Annotated[int, Meta(ge=1, le=2)]
    inner_size: Size
    state_size: Size
    convolution_width: Size
    heads: Size = 1
    groups: Size = 1
    time_step_rank: Size | None = None


class ShortConvolution(Block, tag="convolution", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gated short convolution (LFM2) over `channels`, the hidden size; its state is the last `width - 1` inputs."""

    width: Size
    channels: Size


class CrossAttention(Block, tag="cross", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Attention over encoder states or image tokens, whose keys and values are cached once per request."""

    query_heads: Size
    kv_heads: Size
    head_size: Size
    source_tokens: Size
    source_size: Annotated[Size | None, Meta(description="Width of the source; absent: the hidden size.")] = None


class Dense(Block, tag="dense", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A feed-forward of `width`; gated ones (SwiGLU, GeGLU) have three matrices, others two."""

    width: Size
    gated: bool = True


class Experts(Block, tag="experts", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Mixture of experts. `input_size` is the width that experts see where it is not the hidden size (latent MoE)."""

    experts: Size
    experts_per_token: Size
    width: Size
    gated: bool = True
    shared_width: SizeOrZero = 0
    shared_gate: bool = False
    input_size: Size | None = None


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A matrix under the name that checkpoints give it."""

    role: Annotated[str, Meta(min_length=1, max_length=64)]
    inputs: Size
    outputs: Size


class Matrices(Block, tag="matrices", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whatever else a layer multiplies by: a linear map in place of attention (Nemotron-NAS), per-layer embedding
    gates, low-rank residuals. Every tensor-parallel rank holds them whole.
    """

    matrices: Annotated[tuple[Matrix, ...], Meta(min_length=1, max_length=16)]


AnyBlock = (
    Attention
    | LatentAttention
    | CompressedAttention
    | LinearAttention
    | Mamba
    | ShortConvolution
    | CrossAttention
    | Dense
    | Experts
    | Matrices
)


class LayerGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Layers that are alike. `small_parameters` counts what no matrix holds, per layer: norms, biases, sinks, scales.

    `expert_small_parameters` are those of one expert (biases); they are active with it.
    """

    blocks: Annotated[tuple[AnyBlock, ...], Meta(max_length=8)]
    small_parameters: SizeOrZero = 0
    expert_small_parameters: SizeOrZero = 0


class Encoder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The encoder of an encoder-decoder, or a whole encoder-only stack beside the decoder."""

    hidden_size: Size
    layer: LayerGroup
    layers: Layers
    source_tokens: Size
    small_parameters: SizeOrZero = 0


class TowerKind(StrEnum):
    """What a tower reads."""

    VISION = "vision"
    AUDIO = "audio"
    OTHER = "other"


class Tower(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An image or audio encoder beside the language model, with its projector."""

    tower: TowerKind
    parameters: SizeOrZero
    hidden_size: Size | None = None
    layers: Layers | None = None
    width: Size | None = None
    patch_tokens: Size | None = None


class NextTokenLayers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Multi-token-prediction layers: loaded and cached only when the engine speculates with them."""

    layers: Layers
    group: LayerGroup
    extra_parameters: SizeOrZero = 0


class StateDtypes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Bytes per element of recurrent state: the convolution's and the state's own.

    Null leaves the state's to the engine; fp32 in most, the model's own type in vLLM.
    """

    convolution_bytes: Annotated[int, Meta(ge=1, le=8)] = 2
    recurrent_bytes: Annotated[int, Meta(ge=1, le=8)] | None = None

    @property
    def recurrent(self) -> int:
        """Bytes per element of the state, fp32 where it is left to the engine."""
        return self.recurrent_bytes or 4


class Architecture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A language model or text encoder: its layers, embeddings and everything beside them."""

    family: Annotated[str, Meta(min_length=1, max_length=64, description="The model_type of its config.json.")]
    hidden_size: Size
    vocabulary_size: SizeOrZero
    layer_groups: Annotated[tuple[LayerGroup, ...], Meta(min_length=1, max_length=256)]
    layer_order: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=255)], ...],
        Meta(min_length=1, max_length=4096, description="For each layer, first to last, the index of its group."),
    ]
    maximum_context_tokens: Size | None = None
    tied_embeddings: bool = False
    output_head: bool = True
    embedding_size: Size | None = None
    extra_embedding_parameters: Annotated[
        SizeOrZero, Meta(description="Position, token-type and other lookup tables beside the vocabulary's.")
    ] = 0
    per_layer_embedding_parameters: SizeOrZero = 0
    small_parameters: Annotated[SizeOrZero, Meta(description="Final norm and what else stands outside the layers.")] = 0
    rotary_cache_elements: Annotated[
        SizeOrZero, Meta(description="Elements of the cos/sin table engines keep: positions × rotary size.")
    ] = 0
    encoder: Encoder | None = None
    towers: Annotated[tuple[Tower, ...], Meta(max_length=4)] = ()
    next_token_layers: NextTokenLayers | None = None
    state: StateDtypes = StateDtypes()
