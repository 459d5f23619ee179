"""The inverse answers: the largest batch, the largest picture of the same shape, and the most frames that still run."""

from __future__ import annotations

import math

from cardmatch.engine.memory.diffusion.curves import Curve, activations
from cardmatch.engine.memory.diffusion.job import Size

MOST_BATCH, MOST_PIXELS, MOST_FRAMES = 4096, 16_384, 4096
STEP_PIXELS = 16
"""Sides of pictures are multiples of this: eight pixels a latent cell, two cells a patch."""


def largest_batch(found: tuple[Curve, ...], room: float, size: Size) -> int:
    """Pictures at once that every phase can hold in *room* bytes; 0 where not even one."""
    most = MOST_BATCH
    for curve in found:
        none = activations(curve, 0, size.pixels, size.frames)
        slope = activations(curve, 1, size.pixels, size.frames) - none
        left = room - curve.resident - curve.states - none
        if left < slope and (left < 0 or slope > 0):
            return 0
        if curve.alone:
            slope = curve.output * size.pixels * size.frames
            left -= activations(curve, 1, size.pixels, size.frames) - slope - none
        most = min(most, MOST_BATCH if slope <= 0 else max(0, math.floor(left / slope)))
    return most


def largest_size(found: tuple[Curve, ...], room: float, size: Size) -> tuple[int, int]:
    """Width and height of the largest picture of the same proportions that every phase can hold; 0 where none."""
    ratio = size.width / size.height
    low, high = 0, MOST_PIXELS // STEP_PIXELS
    while low < high:
        middle = (low + high + 1) // 2
        width, height = _sides(middle, ratio)
        if all(_holds(curve, room, size.batch, width * height, size.frames) for curve in found):
            low = middle
        else:
            high = middle - 1
    return _sides(low, ratio) if low else (0, 0)


def _sides(steps: int, ratio: float) -> tuple[int, int]:
    """The longer side has *steps* steps; the shorter at least one."""
    longer = steps * STEP_PIXELS
    shorter = max(STEP_PIXELS, round(steps * min(ratio, 1 / ratio)) * STEP_PIXELS)
    return (longer, shorter) if ratio >= 1 else (shorter, longer)


def most_frames(found: tuple[Curve, ...], room: float, size: Size) -> int:
    """Frames of the longest video of this size that every phase can hold; 0 where not even one."""
    low, high = 0, MOST_FRAMES
    while low < high:
        middle = (low + high + 1) // 2
        if all(_holds(curve, room, size.batch, size.pixels, middle) for curve in found):
            low = middle
        else:
            high = middle - 1
    return low


def _holds(curve: Curve, room: float, batch: int, pixels: int, frames: int) -> bool:
    return curve.resident + curve.states + activations(curve, batch, pixels, frames) <= room
