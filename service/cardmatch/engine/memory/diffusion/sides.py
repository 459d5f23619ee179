"""Sizes that pipelines make: whole patches of latent cells, and whole latent frames after the first frame."""

from __future__ import annotations

from collections.abc import Iterator

from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.phases import cell, temporal
from cardmatch.engine.models.diffusion.component import Transformer, UNet
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice


def multiple(job: DiffusionJob) -> int:
    """Pixels of which both sides of a picture are multiples.

    diffusers' `check_inputs` refuses other sizes (SDXL, SD3, Wan, LTX) or takes the next smaller (FLUX, Qwen-Image).
    """
    for part in job.parts:
        on = part.component
        if isinstance(on, Transformer):
            return round(cell(job, None)) * on.patch
        if isinstance(on, UNet):
            return round(cell(job, on.compression))
    return 1


def whole_frames(job: DiffusionJob, frames: int) -> int:
    """The longest video of at most *frames* that is made: a first frame, and as many as latent frames stand for."""
    each = temporal(job)
    return max(0, (frames - 1) // each * each + 1) if job.size.frames > 1 else frames


def told(job: DiffusionJob) -> Iterator[Notice]:
    """What is said of a size that is refused or rounded where it is run."""
    size, step = job.size, multiple(job)
    if size.width % step or size.height % step:
        sides = {"width_pixels": size.width, "height_pixels": size.height}
        yield notice(NoticeCode.SIZE_NOT_MADE, Severity.CAUTION, **sides, multiple=step)
    fewer = whole_frames(job, size.frames)
    if fewer < size.frames:
        more = fewer + temporal(job)
        yield notice(NoticeCode.FRAMES_NOT_MADE, Severity.CAUTION, frames=size.frames, fewer=fewer, more=more)
