"""The components of a diffusion pipeline, each with its parameters and the dimensions that its activations hang on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.units import Parameters

Width = Annotated[int, Meta(ge=1, le=1 << 20)]
Layers = Annotated[int, Meta(ge=1, le=4096)]
Side = Annotated[float, Meta(ge=1, le=4096)]
Channels = Annotated[tuple[Width, ...], Meta(min_length=1, max_length=16)]


class _Component(msgspec.Struct, tag_field="part", frozen=True, kw_only=True, omit_defaults=True):
    """Any component. `block_parameters` are those of the largest block, `matrix_parameters` of the largest matrix."""

    parameters: Parameters
    block_parameters: Parameters = 0
    matrix_parameters: Parameters = 0


class UNet(_Component, tag="unet", frozen=True, kw_only=True, omit_defaults=True):
    """A convolutional denoiser: channels by level, latent cells of *compression* pixels a side.

    *heads* are those of attention at each level, 0 where a level has none; *depths* the transformer blocks there.
    """

    channels: Channels
    heads: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    resnets: Layers = 2
    compression: Side | None = None


class Transformer(_Component, tag="transformer", frozen=True, kw_only=True, omit_defaults=True):
    """A diffusion transformer over patches of *patch* latent cells a side.

    *text_tokens* attend jointly with the image's (0: cross-attention); *modulation_parameters* are those of the
    adaptive norms, which layerwise casting leaves in 16 bits. *attention_heads* matter for plain attention only.
    """

    width: Width
    layers: Layers
    heads: Annotated[int, Meta(ge=1, le=4096)] = 1
    patch: Annotated[int, Meta(ge=1, le=64)] = 1
    text_tokens: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    modulation_parameters: Parameters = 0


class TextEncoder(_Component, tag="text_encoder", frozen=True, kw_only=True, omit_defaults=True):
    """A text encoder. *wide_parameters* are T5's feed-forward outputs, which fp16 and bitsandbytes keep in fp32."""

    width: Width
    layers: Layers
    tokens: Annotated[int, Meta(ge=1, le=1 << 20)] = 77
    embedding_parameters: Parameters = 0
    wide_parameters: Parameters = 0


class Autoencoder(_Component, tag="autoencoder", frozen=True, kw_only=True, omit_defaults=True):
    """The decoder from latents to pixels. *decoder_channels* enter its last level, *encoder_channels* leave the first.

    A video autoencoder compresses *temporal* frames to one and works on *frames_at_once*; *upcast* says that the
    pipeline decodes in fp32 where it runs in fp16.
    """

    decoder_channels: Width
    encoder_channels: Width
    latent_channels: Width = 4
    compression: Side = 8
    temporal: Annotated[int, Meta(ge=1, le=64)] = 1
    frames_at_once: Annotated[int, Meta(ge=1, le=4096)] | None = None
    tile_pixels: Annotated[int, Meta(ge=1, le=1 << 16)] = 512
    upcast: bool = False


class Extra(_Component, tag="extra", frozen=True, kw_only=True, omit_defaults=True):
    """A component that lies on the GPU but sets no peak: a safety checker, an image encoder."""


Component = UNet | Transformer | TextEncoder | Autoencoder | Extra


class Named(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A component under the name that the pipeline loads it by, how sure its facts are, and where they are from."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    component: Component
    basis: Basis = Basis.EXACT
    source: Annotated[str, Meta(max_length=400)] = ""


class Medium(StrEnum):
    """What a pipeline makes."""

    IMAGE = "image"
    VIDEO = "video"


class Guidance(StrEnum):
    """How a pipeline follows the prompt: both passes in one batch, one after the other, or a learned scale."""

    BATCHED = "batched"
    SEQUENTIAL = "sequential"
    DISTILLED = "distilled"


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Components in the order in which they run, and what is made when nothing else is said."""

    components: Annotated[tuple[Named, ...], Meta(min_length=1, max_length=16)]
    medium: Medium = Medium.IMAGE
    guidance: Guidance = Guidance.BATCHED
    width_pixels: Annotated[int, Meta(ge=16, le=16_384)] = 1024
    height_pixels: Annotated[int, Meta(ge=16, le=16_384)] = 1024
    frames: Annotated[int, Meta(ge=1, le=4096)] = 1
    steps: Annotated[int, Meta(ge=1, le=10_000)] = 50
    precision: Annotated[str, Meta(pattern=r"^(bf16|fp16|fp32)$(?!\n)")] = "bf16"


def total_parameters(pipeline: Pipeline) -> int:
    """Parameters of all components."""
    return sum(named.component.parameters for named in pipeline.components)
