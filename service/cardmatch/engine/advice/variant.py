"""Pictures or encoding as one copy does it: with the settings that make it fit or quick, some of them changed."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.encode.job import EncodeJob


class Variant(NamedTuple):
    """A job in its settings, and those of them that the request did not state.

    Where it does not fit, *remedy* is the change of the request that would let it.
    """

    job: DiffusionJob | EncodeJob
    changes: tuple[Change, ...]
    remedy: Change | None = None
