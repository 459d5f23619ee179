"""StableCascadeUNet: both stages of Stable Cascade (diffusers, unet_stable_cascade.py)."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.models.config.keys import Keys, wrong_type
from cardmatch.engine.models.diffusion.component import UNet
from cardmatch.engine.models.diffusion.counting import attention, conv, linear

_MOST = 1 << 14
PRIOR_PIXELS, DECODER_PIXELS = 42.67, 4.0
"""Pixels a side of a latent cell: the prior draws 24 × 24 for 1024 pixels, the decoder 256 × 256 (diffusers)."""


class _Shape(NamedTuple):
    channels: list[int]
    down: list[int]
    up: list[int]
    kinds: list[list[str]]
    steps: int
    mappers: int
    conditioning: int


def read_cascade(keys: Keys) -> UNet:
    """The component that a StableCascadeUNet configuration describes. Raises Invalid."""
    shape = _shape(keys)
    total = _ends(keys, shape) + _texts(keys, shape)
    for level, wide in enumerate(shape.channels):
        blocks = shape.down[level] + shape.up[level]
        total += blocks * _block(shape, level)
        joined = wide if level < len(shape.channels) - 1 else 0
        total += joined * 4 * wide  # the first block on the way up takes what was put aside
    total += _between(keys, shape) + _repeats(keys, shape)
    stage = DECODER_PIXELS if keys.maybe("effnet_in_channels", high=_MOST) else PRIOR_PIXELS
    widest = max(range(len(shape.channels)), key=lambda level: _block(shape, level))
    heads = keys.integers("num_attention_heads", low=0, high=4096, length=len(shape.channels)) or []
    return UNet(
        parameters=total,
        block_parameters=_block(shape, widest),
        matrix_parameters=4 * shape.channels[-1] ** 2,
        channels=tuple(shape.channels),
        heads=tuple(heads),
        depths=tuple(shape.down),
        compression=stage * keys.size("patch_size", 1, high=64),
    )


def _shape(keys: Keys) -> _Shape:
    channels = keys.integers("block_out_channels", low=1, high=_MOST)
    if not channels:
        keys.missing("block_out_channels")
    levels = len(channels)
    down = keys.integers("down_num_layers_per_block", low=1, high=4096, length=levels)
    up = keys.integers("up_num_layers_per_block", low=1, high=4096, length=levels)
    kinds = keys.array("block_types_per_layer", length=None)
    if down is None or up is None or kinds is None:
        keys.missing("block_types_per_layer" if kinds is None else "down_num_layers_per_block")
    for index, kind in enumerate(kinds[1]):
        if not isinstance(kind, list):
            wrong_type(kind, f"{kinds[0]}/{index}", "array")
    types = keys.array("timestep_conditioning_type")
    return _Shape(
        channels=channels,
        down=down,
        up=list(reversed(up)),
        kinds=[*kinds[1], *[[]] * levels][:levels],
        steps=keys.size("timestep_ratio_embedding_dim", 64, high=_MOST),
        mappers=1 + (len(types[1]) if types else 2),
        conditioning=keys.size("conditioning_dim", 2048, high=_MOST),
    )


def _block(shape: _Shape, level: int) -> int:
    """A residual block, and the time and attention blocks that follow it at this level."""
    wide, kinds = shape.channels[level], shape.kinds[level]
    count = 10 * wide + linear(wide, 4 * wide) + 8 * wide + linear(4 * wide, wide)
    if "SDCascadeTimestepBlock" in kinds:
        count += shape.mappers * linear(shape.steps, 2 * wide)
    if "SDCascadeAttnBlock" in kinds:
        count += attention(wide) + linear(shape.conditioning, wide)
    return count


def _ends(keys: Keys, shape: _Shape) -> int:
    """From latents to the first level and back; what the decoder takes of the prior and of pixels."""
    outer, patch = shape.channels[0], keys.size("patch_size", 1, high=64) ** 2
    total = conv(keys.size("in_channels", 16, high=_MOST) * patch, outer, 1)
    total += conv(outer, keys.size("out_channels", 16, high=_MOST) * patch, 1)
    for name in ("effnet_in_channels", "pixel_mapper_in_channels"):
        inputs = keys.maybe(name, high=_MOST)
        total += conv(inputs, 4 * outer, 1) + conv(4 * outer, outer, 1) if inputs else 0
    return total


def _texts(keys: Keys, shape: _Shape) -> int:
    tokens, width = keys.size("clip_seq", 4, high=1 << 12), shape.conditioning
    pooled = keys.size("clip_text_pooled_in_channels", 1280, high=_MOST)
    text, image = keys.maybe("clip_text_in_channels", high=_MOST), keys.maybe("clip_image_in_channels", high=_MOST)
    total = linear(pooled, width * tokens)
    total += linear(text, width) if text else 0
    return total + (linear(image, width * tokens) if image else 0)


def _between(keys: Keys, shape: _Shape) -> int:
    """Convolutions between levels: strided 2 × 2, or 1 × 1 where the level may be switched off."""
    found = keys.array("switch_level")
    kernel = 1 if found is not None and found[1] else 2
    pairs = zip(shape.channels, shape.channels[1:], strict=False)
    return sum(conv(low, high, kernel) + conv(high, low, kernel) for low, high in pairs)


def _repeats(keys: Keys, shape: _Shape) -> int:
    levels = len(shape.channels)
    down = keys.integers("down_blocks_repeat_mappers", low=1, high=64, length=levels) or [1] * levels
    up = keys.integers("up_blocks_repeat_mappers", low=1, high=64, length=levels) or [1] * levels
    times = [a + b - 2 for a, b in zip(down, reversed(up), strict=True)]
    return sum(count * conv(wide, wide, 1) for count, wide in zip(times, shape.channels, strict=True))
