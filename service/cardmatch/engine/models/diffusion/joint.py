"""Transformers in which text and image attend jointly: FLUX, SD3 and Qwen-Image (diffusers, transformer_*.py)."""

from __future__ import annotations

from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.diffusion.component import Transformer
from cardmatch.engine.models.diffusion.counting import attention, conv, linear, perceptron

_TIME = 256
"""Sinusoidal features of the time step, in every diffusers pipeline."""
_WIDE = 1 << 16


def _width(keys: Keys, heads: int, size: int) -> tuple[int, int, int]:
    count = keys.size("num_attention_heads", heads, high=4096)
    each = keys.size("attention_head_dim", size, high=4096)
    return count * each, count, each


def _mlp(width: int) -> int:
    return perceptron(width, 4 * width, width)


def read_flux(keys: Keys) -> Transformer:
    """FluxTransformer2DModel: double blocks, then single ones over text and image together. Raises Invalid."""
    width, heads, size = _width(keys, 24, 128)
    latent, text = keys.size("in_channels", 64, high=_WIDE), keys.size("joint_attention_dim", 4096, high=_WIDE)
    doubles, singles = keys.size("num_layers", 19, high=4096), keys.size("num_single_layers", 38, high=4096)
    pooled = keys.size("pooled_projection_dim", 768, high=_WIDE)
    double = 12 * linear(width, width) + 2 * attention(width) + 2 * _mlp(width) + 4 * size
    single = 3 * linear(width, width) + 3 * linear(width, width) + linear(width, 4 * width) + linear(5 * width, width)
    guided = 1 + keys.flag("guidance_embeds")
    total = linear(latent, width) + linear(text, width) + guided * perceptron(_TIME, width, width)
    total += perceptron(pooled, width, width) + doubles * double + singles * (single + 2 * size)
    total += linear(width, 2 * width) + linear(width, keys.size("out_channels", latent, high=_WIDE))
    return Transformer(
        parameters=total,
        block_parameters=double,
        matrix_parameters=linear(width, 6 * width),
        width=width,
        layers=doubles + singles,
        heads=heads,
        patch=2 * keys.size("patch_size", 1, high=64),
        text_tokens=512,
        modulation_parameters=(12 * doubles + 3 * singles) * linear(width, width),
    )


def read_sd3(keys: Keys) -> Transformer:
    """SD3Transformer2DModel: joint blocks, the last of which drops its text. Raises Invalid."""
    width, heads, size = _width(keys, 18, 64)
    layers, patch = keys.size("num_layers", 18, high=4096), keys.size("patch_size", 2, high=64)
    latent = keys.size("in_channels", 16, high=_WIDE)
    text, caption = keys.size("joint_attention_dim", 4096, high=_WIDE), keys.size("caption_projection_dim", width)
    pooled = keys.size("pooled_projection_dim", 2048, high=_WIDE)
    normed = size * bool(keys.text("qk_norm"))
    block = 12 * linear(width, width) + 2 * attention(width) + 2 * _mlp(width) + 4 * normed
    last = 4 * linear(width, width) + linear(width, width) + _mlp(width)
    dual = len(keys.integers("dual_attention_layers", low=0, high=4096) or ())
    total = conv(latent, width, patch) + perceptron(_TIME, width, width) + perceptron(pooled, width, width)
    total += linear(text, caption) + layers * block - last
    total += dual * (attention(width) + 3 * linear(width, width) + 2 * normed)
    total += linear(width, 2 * width) + linear(width, patch * patch * keys.size("out_channels", latent, high=_WIDE))
    return Transformer(
        parameters=total,
        block_parameters=block,
        matrix_parameters=linear(width, 6 * width),
        width=width,
        layers=layers,
        heads=heads,
        patch=patch,
        text_tokens=333,
        modulation_parameters=(12 * layers - 4) * linear(width, width),
    )


def read_qwen_image(keys: Keys) -> Transformer:
    """QwenImageTransformer2DModel: joint blocks with a modulation for each stream. Raises Invalid."""
    width, heads, size = _width(keys, 24, 128)
    layers, patch = keys.size("num_layers", 60, high=4096), keys.size("patch_size", 2, high=64)
    latent, text = keys.size("in_channels", 64, high=_WIDE), keys.size("joint_attention_dim", 3584, high=_WIDE)
    block = 12 * linear(width, width) + 2 * attention(width) + 2 * _mlp(width) + 4 * size
    total = linear(latent, width) + text + linear(text, width) + perceptron(_TIME, width, width) + layers * block
    total += linear(width, 2 * width) + linear(width, patch * patch * keys.size("out_channels", 16, high=_WIDE))
    return Transformer(
        parameters=total,
        block_parameters=block,
        matrix_parameters=linear(width, 6 * width),
        width=width,
        layers=layers,
        heads=heads,
        patch=patch,
        text_tokens=512,
        modulation_parameters=12 * layers * linear(width, width),
    )
