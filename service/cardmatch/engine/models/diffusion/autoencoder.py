"""AutoencoderKL: the image autoencoder of Stable Diffusion, SDXL, SD3 and FLUX (diffusers, autoencoder_kl.py)."""

from __future__ import annotations

import math

from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.diffusion.component import Autoencoder
from cardmatch.engine.models.diffusion.counting import attention, conv, norm

_MOST = 1 << 14


def read_autoencoder(keys: Keys) -> Autoencoder:
    """The component that an AutoencoderKL configuration describes. Raises Invalid."""
    channels = keys.integers("block_out_channels", low=1, high=_MOST)
    if not channels:
        keys.missing("block_out_channels")
    layers = keys.size("layers_per_block", 1, high=64)
    latent, colours = keys.size("latent_channels", 4, high=_MOST), keys.size("in_channels", 3, high=64)
    total = _encoder(channels, layers, latent, colours)
    total += _decoder(channels, layers, latent, keys.size("out_channels", 3, high=64))
    total += conv(2 * latent, 2 * latent, 1) * keys.flag("use_quant_conv", fallback=True)
    total += conv(latent, latent, 1) * keys.flag("use_post_quant_conv", fallback=True)
    widest = channels[-1]
    return Autoencoder(
        parameters=total,
        block_parameters=(layers + 1) * resnet(widest, widest),
        matrix_parameters=conv(widest, widest),
        decoder_channels=channels[min(1, len(channels) - 1)],
        encoder_channels=channels[0],
        latent_channels=latent,
        compression=math.prod([2] * (len(channels) - 1)),
        tile_pixels=keys.size("sample_size", 512, high=_MOST),
    )


def resnet(inputs: int, outputs: int, time: int = 0) -> int:
    """Two normed convolutions, a projection of the time step, and a shortcut where the width changes."""
    count = norm(inputs) + conv(inputs, outputs) + norm(outputs) + conv(outputs, outputs)
    if time:
        count += time * outputs + outputs
    return count + (conv(inputs, outputs, 1) if inputs != outputs else 0)


def _middle(width: int) -> int:
    return 2 * resnet(width, width) + norm(width) + attention(width)


def _encoder(channels: list[int], layers: int, latent: int, colours: int) -> int:
    total, width = conv(colours, channels[0]), channels[0]
    for level, wide in enumerate(channels):
        total += resnet(width, wide) + (layers - 1) * resnet(wide, wide)
        total += conv(wide, wide) if level < len(channels) - 1 else 0
        width = wide
    return total + _middle(width) + norm(width) + conv(width, 2 * latent)


def _decoder(channels: list[int], layers: int, latent: int, colours: int) -> int:
    width = channels[-1]
    total = conv(latent, width) + _middle(width)
    for level, wide in enumerate(reversed(channels)):
        total += resnet(width, wide) + layers * resnet(wide, wide)
        total += conv(wide, wide) if level < len(channels) - 1 else 0
        width = wide
    return total + norm(width) + conv(width, colours)
