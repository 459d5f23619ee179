"""The networks of image and video pipelines whose speed can be predicted."""

from __future__ import annotations

import functools

from cardmatch.catalogue.bundle import read
from cardmatch.engine.speed.images import Denoiser


@functools.cache
def denoisers() -> dict[str, Denoiser]:
    """The bundled networks by id, read once a process."""
    return {each.id: each for each in read("denoisers.json", tuple[Denoiser, ...])}
