"""The network that a pipeline runs at each step, as the speed formulas see it, read off the pipeline's components."""

from __future__ import annotations

from cardmatch.engine.models.diffusion.component import Autoencoder, Guidance, Pipeline, Transformer, UNet
from cardmatch.engine.speed.images import Denoiser

_LATENT_PIXELS = 8
_CONVOLUTION = 9
"""Weights of a 3 × 3 kernel."""
_ATTENDING = 18
"""Parameters of a UNet's transformer block per squared width that each cell meets: 4 in self-attention, 2 in
cross-attention (its keys and values are the prompt's), 12 in a gated feed-forward 4 times as wide."""


def network_of(pipeline: Pipeline, *, guided: bool = True) -> Denoiser | None:
    """The denoiser of *pipeline*; None where there are several, whose shares of the steps nobody stated.

    *guided* is what the request says of guidance: where the scale is learned the network runs once a step anyhow.
    """
    found = [named.component for named in pipeline.components if isinstance(named.component, UNet | Transformer)]
    if len(found) != 1:
        return None
    twice = guided and pipeline.guidance is not Guidance.DISTILLED
    (on,) = found
    if isinstance(on, Transformer):
        return _transformer(on, _decoder(pipeline), guided=twice)
    side = round((pipeline.width_pixels * pipeline.height_pixels) ** 0.5)
    return Denoiser(
        id="unet", guided=twice, pass_flops=2.0 * _multiply_adds(on, side), own_pixels=side, source="its components"
    )


def _decoder(pipeline: Pipeline) -> Autoencoder | None:
    found = (named.component for named in pipeline.components if isinstance(named.component, Autoencoder))
    return next(found, None)


def _transformer(on: Transformer, decoder: Autoencoder | None, *, guided: bool) -> Denoiser:
    cell = _LATENT_PIXELS if decoder is None else decoder.compression
    return Denoiser(
        id="transformer",
        guided=guided,
        blocks=on.layers,
        width=on.width,
        token_pixels=max(1, round(cell * on.patch)),
        token_frames=1 if decoder is None else decoder.temporal,
        prompt_tokens=min(on.text_tokens, 65_536),
        source="its components",
    )


def _multiply_adds(on: UNet, side: int) -> float:
    """Multiply-adds of one pass over a picture of *side* pixels.

    Counters of such networks leave the products of attention scores out (SDXL: 3.0 × 10^12 at 1024; SD 1.5: 0.34 ×
    10^12 at 512), and the share that is reached was fitted to their counts.
    """
    levels, last = on.channels, len(on.channels) - 1
    cells = [(side / (on.compression or _LATENT_PIXELS) / 2**level) ** 2 for level in range(len(levels))]
    total, before, skipped = 0.0, levels[0], [levels[0]]
    for level, wide in enumerate(levels):
        for _ in range(on.resnets):
            total += _residual(before, wide, cells[level]) + _attention(on, level, cells[level])
            before = wide
            skipped.append(wide)
        if level < last:
            total += _CONVOLUTION * wide**2 * cells[level + 1]
            skipped.append(wide)
    deepest = max((level for level in range(len(levels)) if _depth(on, level)), default=last)
    total += 2 * _residual(levels[last], levels[last], cells[last])
    total += _attending(levels[last], _depth(on, deepest), cells[last])
    for level in range(last, -1, -1):
        for _ in range(on.resnets + 1):
            total += _residual(before + skipped.pop(), levels[level], cells[level])
            total += _attention(on, level, cells[level])
            before = levels[level]
        if level:
            total += _CONVOLUTION * before**2 * cells[level - 1]
    return total


def _residual(inside: int, outside: int, cells: float) -> float:
    """Two convolutions of a residual block, and the one that matches its shortcut."""
    shortcut = inside * outside if inside != outside else 0
    return (_CONVOLUTION * (inside * outside + outside**2) + shortcut) * cells


def _depth(on: UNet, level: int) -> int:
    """Transformer blocks of a level after each of its residual blocks."""
    attends = level < len(on.heads) and on.heads[level]
    return on.depths[level] if attends and level < len(on.depths) else 0


def _attention(on: UNet, level: int, cells: float) -> float:
    return _attending(on.channels[level], _depth(on, level), cells)


def _attending(wide: int, depth: int, cells: float) -> float:
    """Transformer blocks over *cells*, with the projections into and out of them."""
    return (_ATTENDING * depth + 2) * wide**2 * cells if depth else 0.0
