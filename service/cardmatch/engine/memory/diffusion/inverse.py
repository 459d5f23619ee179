"""The inverse answers: the largest batch, the largest picture of the same shape, and the most frames that still run."""

from __future__ import annotations

import math
from collections.abc import Callable

from cardmatch.engine.memory.diffusion.curves import Curve, activations, frames_of
from cardmatch.engine.memory.diffusion.job import Size

MOST_BATCH, MOST_PIXELS, MOST_FRAMES = 4096, 16_384, 4096
STEP_PIXELS = 16
"""Sides of pictures are multiples of this at least: eight pixels a latent cell, two cells a patch."""


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


def largest_size(found: tuple[Curve, ...], room: float, size: Size, step: int = STEP_PIXELS) -> tuple[int, int]:
    """Width and height of the largest picture of the same proportions that every phase can hold; 0 where none.

    Sides are multiples of *step* pixels.
    """
    ratio = size.width / size.height
    area = min((_pixels(curve, room, size) for curve in found), default=0.0)
    near = math.sqrt(max(0.0, area) * max(ratio, 1 / ratio)) / step
    most = MOST_PIXELS // step
    steps = _settled(
        min(most, int(near)),
        most,
        lambda count: _all_hold(found, room, size.batch, _area(count, ratio, step), size.frames),
    )
    return _sides(steps, ratio, step) if steps else (0, 0)


def most_frames(found: tuple[Curve, ...], room: float, size: Size) -> int:
    """Frames of the longest video of this size that every phase can hold; 0 where not even one."""
    near = min((_frames(curve, room, size) for curve in found), default=0.0)
    return _settled(
        max(0, min(MOST_FRAMES, int(near))),
        MOST_FRAMES,
        lambda frames: _all_hold(found, room, size.batch, size.pixels, frames),
    )


def _left(curve: Curve, room: float, batch: int) -> float:
    """What is left of *room* for that which grows with a picture, of each of a batch."""
    return (room - curve.resident - curve.states - curve.fixed) / (1 if curve.alone else batch) - curve.each


def _pixels(curve: Curve, room: float, size: Size) -> float:
    """Pixels of the largest frame that a phase holds, as a real number."""
    left, count = _left(curve, room, size.batch), 1 if curve.alone else size.batch
    finished = curve.output * size.batch * size.frames / count
    held = frames_of(curve, size.frames)
    if curve.cap_pixels is not None:
        cells = curve.cap_pixels * held
        whole = cells * (curve.linear + curve.square * cells)
        if whole + finished * curve.cap_pixels <= left:
            return (left - whole) / finished if finished else float(MOST_PIXELS**2)
    return _root(left, curve.linear * held + finished, curve.square * held**2)


def _frames(curve: Curve, room: float, size: Size) -> float:
    """Frames of the longest video that a phase holds, as a real number."""
    left, count = _left(curve, room, size.batch), 1 if curve.alone else size.batch
    finished = curve.output * size.batch * size.pixels / count
    held = size.pixels if curve.cap_pixels is None else min(size.pixels, curve.cap_pixels)
    if curve.cap_frames is not None:
        cells = held * curve.cap_frames
        whole = cells * (curve.linear + curve.square * cells)
        if whole + finished * curve.cap_frames * curve.temporal <= left:
            return (left - whole) / finished if finished else float(MOST_FRAMES)
    return _root(left, curve.linear * held / curve.temporal + finished, curve.square * (held / curve.temporal) ** 2)


def _root(left: float, slope: float, square: float) -> float:
    """The largest x with slope · x + square · x² ≤ left; 0 where none is."""
    if left < 0:
        return 0.0
    if square > 0:
        return (math.sqrt(slope * slope + 4 * square * left) - slope) / (2 * square)
    return left / slope if slope > 0 else float(MOST_PIXELS**2)


def _settled(near: int, most: int, runs: Callable[[int], bool]) -> int:
    """*near* corrected for rounding: the number itself runs, the next does not."""
    while near < most and runs(near + 1):
        near += 1
    while near > 0 and not runs(near):
        near -= 1
    return near


def _sides(steps: int, ratio: float, step: int) -> tuple[int, int]:
    """The longer side has *steps* steps; the shorter at least one."""
    longer = steps * step
    shorter = max(step, round(steps * min(ratio, 1 / ratio)) * step)
    return (longer, shorter) if ratio >= 1 else (shorter, longer)


def _area(steps: int, ratio: float, step: int) -> int:
    width, height = _sides(steps, ratio, step)
    return width * height


def _all_hold(found: tuple[Curve, ...], room: float, batch: int, pixels: int, frames: int) -> bool:
    return all(curve.resident + curve.states + activations(curve, batch, pixels, frames) <= room for curve in found)
