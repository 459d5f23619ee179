"""UNet2DConditionModel: the denoiser of Stable Diffusion, SDXL and Kolors (diffusers, unet_2d_condition.py)."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.models.config.keys import Keys, wrong_type, wrong_value
from cardmatch.engine.models.diffusion.autoencoder import resnet
from cardmatch.engine.models.diffusion.component import UNet
from cardmatch.engine.models.diffusion.counting import attention, conv, linear, norm, perceptron

_MOST = 1 << 14
_PLAIN = ("DownBlock2D", "UpBlock2D")
_CROSS = ("CrossAttnDownBlock2D", "CrossAttnUpBlock2D")


class _Shape(NamedTuple):
    channels: list[int]
    depths: list[int]
    crossing: list[bool]
    context: int
    layers: int

    @property
    def time(self) -> int:
        return 4 * self.channels[0]


def read_unet(keys: Keys) -> UNet:
    """The component that a UNet2DConditionModel configuration describes. Raises Invalid."""
    shape = _shape(keys)
    outer = shape.channels[0]
    total = conv(keys.size("in_channels", 4, high=_MOST), outer) + perceptron(outer, shape.time, shape.time)
    total += _added(keys, shape) + _down(shape) + _middle(shape) + _up(shape)
    total += norm(outer) + conv(outer, keys.size("out_channels", 4, high=_MOST))
    widest = shape.channels[-1]
    heads = _per_level(keys, "attention_head_dim", len(shape.channels), 8)
    return UNet(
        parameters=total,
        block_parameters=_block(shape),
        matrix_parameters=conv(2 * widest, widest),
        channels=tuple(shape.channels),
        heads=tuple(count if crosses else 0 for count, crosses in zip(heads, shape.crossing, strict=True)),
        depths=tuple(shape.depths),
        resnets=shape.layers,
    )


def _shape(keys: Keys) -> _Shape:
    channels = keys.integers("block_out_channels", low=1, high=_MOST)
    if not channels:
        keys.missing("block_out_channels")
    found = keys.array("down_block_types", length=None)
    names = [*_CROSS[:1] * (len(channels) - 1), _PLAIN[0]] if found is None else found[1]
    pointer = keys.at("down_block_types")
    for index, name in enumerate(names):
        if not isinstance(name, str):
            wrong_type(name, f"{pointer}/{index}", "string")
        if name not in {_PLAIN[0], _CROSS[0]}:
            wrong_value(name, f"{pointer}/{index}", [_PLAIN[0], _CROSS[0]])
    return _Shape(
        channels=channels,
        depths=_per_level(keys, "transformer_layers_per_block", len(channels), 1),
        crossing=[name == _CROSS[0] for name in (*names, *[_PLAIN[0]] * len(channels))][: len(channels)],
        context=keys.size("cross_attention_dim", 1280, high=_MOST),
        layers=keys.size("layers_per_block", 2, high=64),
    )


def _per_level(keys: Keys, name: str, levels: int, fallback: int) -> list[int]:
    """One number for all levels, or a list with one for each."""
    found = keys.find(name)
    if found is not None and isinstance(found[1], list):
        return keys.integers(name, low=0, high=_MOST, length=levels) or []
    return [keys.size(name, fallback, high=_MOST)] * levels


def _transformer(width: int, depth: int, context: int) -> int:
    """Norm, projections in and out, and *depth* blocks of self-attention, cross-attention and gated feed-forward."""
    block = 3 * norm(width) + attention(width, bias=False) + attention(width, context, bias=False)
    block += linear(width, 8 * width) + linear(4 * width, width)
    return norm(width) + 2 * linear(width, width) + depth * block


def _crossed(shape: _Shape, level: int) -> int:
    return _transformer(shape.channels[level], shape.depths[level], shape.context) if shape.crossing[level] else 0


def _down(shape: _Shape) -> int:
    total, width = 0, shape.channels[0]
    for level, wide in enumerate(shape.channels):
        total += resnet(width, wide, shape.time) + (shape.layers - 1) * resnet(wide, wide, shape.time)
        total += shape.layers * _crossed(shape, level)
        total += conv(wide, wide) if level < len(shape.channels) - 1 else 0
        width = wide
    return total


def _middle(shape: _Shape) -> int:
    wide = shape.channels[-1]
    return 2 * resnet(wide, wide, shape.time) + _transformer(wide, shape.depths[-1], shape.context)


def _up(shape: _Shape) -> int:
    """Each resnet takes what its mirror image on the way down put aside."""
    total, width = 0, shape.channels[-1]
    for level in reversed(range(len(shape.channels))):
        wide, below = shape.channels[level], shape.channels[max(level - 1, 0)]
        for index in range(shape.layers + 1):
            aside = below if index == shape.layers else wide
            total += resnet((width if index == 0 else wide) + aside, wide, shape.time) + _crossed(shape, level)
        total += conv(wide, wide) if level else 0
        width = wide
    return total


def _added(keys: Keys, shape: _Shape) -> int:
    """What SDXL adds for sizes and pooled text, and Kolors for the width of its text encoder."""
    total = 0
    if keys.text("addition_embed_type") == "text_time":
        total += perceptron(keys.size("projection_class_embeddings_input_dim", high=_MOST), shape.time, shape.time)
    if keys.text("encoder_hid_dim_type") == "text_proj":
        total += linear(keys.size("encoder_hid_dim", high=_MOST), shape.context)
    return total


def _block(shape: _Shape) -> int:
    """The largest block on the way up, which is what group offload moves at once."""
    return max(
        (shape.layers + 1) * (resnet(2 * wide, wide, shape.time) + _crossed(shape, level))
        for level, wide in enumerate(shape.channels)
    )
