"""How fast images and videos are made: operations of the denoising passes over the share of the rate that is reached.

A transformer multiplies each token of a picture by the matrices of its blocks and each with each other in attention; a
convolutional network's operations at its own size are a fact of its row, and grow with the area.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.speed.band import SpeedBand, doubt
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.pace import MOST_OF_A_RATE, product
from cardmatch.engine.speed.training import rate_of

GROUP = "images"
BLOCK_MATRICES = 12
"""Parameters of a block per squared width that a token meets: 4 in attention, 8 in a feed-forward 4 times as wide."""

Positive = Annotated[float, Meta(gt=0, le=1e18)]
Size = Annotated[int, Meta(ge=1, le=65_536)]


class Denoiser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network that is run at each step.

    Of a transformer: blocks, width, pixels of a token's edge, frames of a token, tokens of the prompt. Of another:
    `pass_flops` for one picture of `own_pixels`. `guided` networks run twice a step, with and without the prompt.
    """

    id: Annotated[str, Meta(min_length=1, max_length=120)]
    guided: bool
    blocks: Size | None = None
    width: Size | None = None
    token_pixels: Size | None = None
    token_frames: Size = 1
    prompt_tokens: Annotated[int, Meta(ge=0, le=65_536)] = 0
    pass_flops: Positive | None = None
    own_pixels: Size | None = None
    source: Annotated[str, Meta(max_length=400)]


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: size, frames of a video, steps, pictures at once, and whether the network is compiled."""

    width_pixels: int
    height_pixels: int
    steps: int
    frames: int = 1
    batch: int = 1
    compiled: bool = False


class ImageSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a batch, of one step of it, and pictures (or videos) a second."""

    seconds: SpeedBand
    step_seconds: SpeedBand
    images_per_second: SpeedBand


def image_speed(network: Denoiser, picture: Picture, chip: Chip, known: SpeedCalibration) -> ImageSpeed:
    """The speed of *network* making *picture* on one *chip*."""
    step = step_seconds(network, picture, chip, known.values)
    seen = chip.card is not None and chip.card in known.seen.get(GROUP, ())
    sure = doubt(known.spreads.get(GROUP), seen=seen)
    return ImageSpeed(
        seconds=sure.time(step * picture.steps),
        step_seconds=sure.time(step),
        images_per_second=sure.rate(picture.batch / (step * picture.steps)),
    )


def step_flops(network: Denoiser, picture: Picture) -> float:
    """Operations of one step for the whole batch."""
    passes = picture.batch * (2 if network.guided else 1)
    area = picture.width_pixels * picture.height_pixels
    if network.blocks is None or network.width is None or network.token_pixels is None:
        own = (network.own_pixels or 1) ** 2
        return passes * (network.pass_flops or 0.0) * area / own * picture.frames
    frames = 1 + (picture.frames - 1) // network.token_frames
    tokens = area / network.token_pixels**2 * frames + network.prompt_tokens
    block = 2 * BLOCK_MATRICES * network.width**2 * tokens + 4 * network.width * tokens**2
    return passes * network.blocks * block


def names(chip: Chip, *, compiled: bool) -> tuple[str, ...]:
    """The constants that make up the share of the 16-bit dense rate.

    Launched one by one, kernels leave large cards idle: those with HBM reach a third of their rate, others over a half.
    """
    if compiled:
        return "denoise", f"denoise/{chip.kind}", "denoise/compiled"
    return "denoise", f"denoise/eager/{chip.kind.split('-', maxsplit=1)[0]}"


def step_seconds(network: Denoiser, picture: Picture, chip: Chip, known: Mapping[str, float]) -> float:
    """Seconds of one step, by *known* constants."""
    share = product(names(chip, compiled=True), known)
    if not picture.compiled:  # which is never quicker
        share = min(share, product(names(chip, compiled=False), known))
    return step_flops(network, picture) / (rate_of(chip) * min(share, MOST_OF_A_RATE))
