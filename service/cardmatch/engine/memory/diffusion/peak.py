"""The peak of a job over its phases, as each counter reads it."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.diffusion.calibration import Factors
from cardmatch.engine.memory.diffusion.curves import Curve, activations
from cardmatch.engine.memory.diffusion.job import DiffusionJob, Size
from cardmatch.engine.memory.diffusion.phases import phases
from cardmatch.engine.memory.diffusion.steps import steps


class Top(NamedTuple):
    """The phase that peaks, the bytes that lie there anyway, and what is allocated, reserved and held by the process.

    *floor* is the least that the process can do with, once the allocator has given back what it does not use.
    Allocated and reserved may peak in different phases: *curve* is the one for which most is reserved.
    """

    curve: Curve
    resident: float
    activations: float
    allocated: float
    reserved: float
    process: float
    floor: float


def curves(job: DiffusionJob, known: Factors) -> tuple[Curve, ...]:
    """Every phase of *job*."""
    return phases(job, known) if job.trained is None else steps(job, job.trained)


def peak(found: tuple[Curve, ...], size: Size, known: Factors) -> Top:
    """The largest phase at *size*; of two equal ones the later."""
    best: Curve | None = None
    allocated = reserved = above = 0.0
    for curve in found:
        live = activations(curve, size.batch, size.pixels, size.frames)
        total = curve.resident + curve.states + live
        wanted = total + known.unreused_share * live
        allocated = max(allocated, total)
        if best is None or wanted >= reserved:
            best, reserved, above = curve, wanted, live
    if best is None:
        raise ValueError("a pipeline without components")
    return Top(
        curve=best,
        resident=best.resident + best.states,
        activations=above,
        allocated=allocated,
        reserved=reserved,
        process=reserved + known.context_bytes,
        floor=allocated + known.context_bytes,
    )
