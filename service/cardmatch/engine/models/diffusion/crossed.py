"""Transformers that look at the text by cross-attention: Wan and HunyuanDiT (diffusers and their own code)."""

from __future__ import annotations

from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.diffusion.component import Transformer
from cardmatch.engine.models.diffusion.counting import attention, conv, linear, norm, perceptron

_TIME = 256
_WIDE = 1 << 16


def read_wan(keys: Keys) -> Transformer:
    """WanModel (and WanTransformer3DModel): patches of one frame, 2 × 2 cells. Raises Invalid."""
    heads = keys.size("num_attention_heads", 40, high=4096)
    width = keys.maybe("dim", high=_WIDE) or heads * keys.size("attention_head_dim", 128, high=4096)
    inner, layers = keys.size("ffn_dim", high=1 << 20), keys.size("num_layers", high=4096)
    latent, out = keys.size("in_channels", 16, high=_WIDE), keys.size("out_channels", 16, high=_WIDE)
    text, patch = keys.size("text_dim", 4096, high=_WIDE), 2
    block = 6 * width + 2 * (attention(width) + 2 * width) + norm(width) + perceptron(width, inner, width)
    total = conv(latent, width, patch) + perceptron(text, width, width) + perceptron(_TIME, width, width)
    total += linear(width, 6 * width) + layers * block + 2 * width + linear(width, patch * patch * out)
    return Transformer(
        parameters=total,
        block_parameters=block,
        matrix_parameters=linear(width, inner),
        width=width,
        layers=layers,
        heads=heads,
        patch=patch,
        modulation_parameters=6 * width * layers,
    )


def read_hunyuan_dit(keys: Keys) -> Transformer:
    """HunyuanDiT2DModel: the second half of its blocks takes what the first put aside. Raises Invalid."""
    heads, size = keys.size("num_attention_heads", 16, high=4096), keys.size("attention_head_dim", 88, high=4096)
    width, layers = heads * size, keys.size("num_layers", 40, high=4096)
    text, t5 = keys.size("cross_attention_dim", 1024, high=_WIDE), keys.size("cross_attention_dim_t5", 2048, high=_WIDE)
    tokens = keys.size("text_len", 77, high=1 << 16) + keys.size("text_len_t5", 256, high=1 << 16)
    pooled, patch = keys.size("pooled_projection_dim", 1024, high=_WIDE), keys.size("patch_size", 2, high=64)
    inner = int(width * keys.number("mlp_ratio", 4.0, high=64))
    latent = keys.size("in_channels", 4, high=_WIDE)
    plain = norm(width) + linear(width, width) + 2 * norm(width) + 4 * norm(size)
    plain += attention(width) + attention(width, text) + perceptron(width, inner, width)
    skip = norm(2 * width) + linear(2 * width, width)
    total = conv(latent, width, patch) + perceptron(t5, 4 * t5, text) + tokens * text
    total += _conditions(keys, width, t5, pooled) + layers * plain + (layers // 2 - 1) * skip
    outputs = latent * (1 + keys.flag("learn_sigma", fallback=True))
    total += linear(width, 2 * width) + linear(width, patch * patch * outputs)
    return Transformer(
        parameters=total,
        block_parameters=plain + skip,
        matrix_parameters=linear(width, inner),
        width=width,
        layers=layers,
        heads=heads,
        patch=patch,
        modulation_parameters=layers * linear(width, width),
    )


def _conditions(keys: Keys, width: int, t5: int, pooled: int) -> int:
    """Time step, an attention pool over T5's output, and the embedding of size and style."""
    positions = keys.size("text_len_t5", 256, high=1 << 16) + 1
    pool = positions * t5 + 3 * linear(t5, t5) + linear(t5, pooled)
    style = width * keys.flag("use_style_cond_and_image_meta_size", fallback=True)
    sizes = 6 * _TIME if style else 0
    return perceptron(_TIME, width, width) + pool + style + perceptron(pooled + sizes + style, 4 * width, width)
