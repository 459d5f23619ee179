"""The phases of a job as curves: what is resident, and what grows with the batch and with the size of a picture."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class PhaseName(StrEnum):
    """The moments at which memory can peak."""

    TEXT_ENCODE = "text_encode"
    DENOISE = "denoise"
    DECODE = "decode"
    TRAIN_STEP = "train_step"
    OPTIMIZER_STEP = "optimizer_step"


class Curve(NamedTuple):
    """Bytes of a phase: resident + states + fixed + n (each + linear · cells + square · cells²), n the batch (one where
    *alone*: slices), cells = pixels × frames after compression, of at most *cap_pixels* and *cap_frames*.

    *part* names the component that runs; *temporal* frames count as one.
    """

    phase: PhaseName
    resident: float
    states: float = 0.0
    each: float = 0.0
    linear: float = 0.0
    square: float = 0.0
    temporal: int = 1
    cap_pixels: int | None = None
    cap_frames: int | None = None
    alone: bool = False
    output: float = 0.0
    fixed: float = 0.0
    part: str = ""


def frames_of(curve: Curve, frames: int) -> float:
    """Latent frames (or frames) that the phase holds at once."""
    held = (frames - 1) // curve.temporal + 1
    return held if curve.cap_frames is None else min(held, curve.cap_frames)


def activations(curve: Curve, batch: int, pixels: float, frames: int) -> float:
    """Bytes on top of resident weights and states. *output* bytes a pixel hold finished pictures, however tiled."""
    held = pixels if curve.cap_pixels is None else min(pixels, curve.cap_pixels)
    cells = held * frames_of(curve, frames)
    count = 1 if curve.alone else batch
    finished = curve.output * batch * pixels * frames
    return curve.fixed + count * (curve.each + cells * (curve.linear + curve.square * cells)) + finished
