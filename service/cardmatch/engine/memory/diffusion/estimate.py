"""The public call of the memory room for diffusion: what a job needs, and what becomes of it on each placement."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.diffusion.answer import (
    ComponentNeed,
    DiffusionEstimate,
    DiffusionNeed,
    DiffusionPlacement,
)
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration, factors
from cardmatch.engine.memory.diffusion.curves import activations
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.placed import Tried, attempt, placed
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.steps import states
from cardmatch.engine.memory.diffusion.ways import GOOD, Trials, ways_to_fit
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.diffusion.component import Pipeline, total_parameters
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Notice, NoticeCode, Params, Severity, notice

MOST_BYTES = 1 << 54
"""16 PiB: sums of such figures stay within what the wire takes for bytes."""


def estimate_diffusion(
    pipeline: Pipeline,
    workload: Diffusion,
    placements: tuple[Placement, ...],
    calibration: DiffusionCalibration,
    *,
    alternatives: tuple[Placement, ...] = (),
) -> DiffusionEstimate:
    """Estimate *workload* on each of *placements*.

    *alternatives* are further placements that ways to fit may name, smallest first; without any none is computed.
    Raises Invalid with pointers into the request.
    """
    settled, known = settle(workload, pipeline), factors(calibration)
    job = settled.job
    tried = attempt(job, known, calibration)
    check_reason(tried.process.high_bytes)
    shared = Trials(job, pipeline, known, calibration, {repr([]): tried})
    for index, placement in enumerate(placements):
        check_copies(placement, index, "diffusion")
    return DiffusionEstimate(
        parameters=total_parameters(pipeline),
        need=_need(tried),
        placements=tuple(
            [_estimate_one(shared, tried, placement, index, alternatives) for index, placement in enumerate(placements)]
        ),
        assumptions=settled.assumptions,
        notices=_notices(job),
        batch=job.size.batch,
        width_pixels=job.size.width,
        height_pixels=job.size.height,
        frames=job.size.frames,
    )


def check_reason(needed: int) -> None:
    """Refuse what no figure of an answer could hold. Raises Invalid."""
    if needed > MOST_BYTES:
        params: Params = {"limit_bytes": MOST_BYTES}
        raise Invalid(Fault(code=FaultCode.BATCH_BEYOND_REASON, pointer="/workload/batch", params=params))


def check_copies(placement: Placement, index: int, workload: str) -> None:
    """Refuse layouts that split a model: of several GPUs each runs a copy. Raises Invalid."""
    layout = placement.layout
    if layout.tensor * layout.pipeline > 1:
        raise Invalid(
            Fault(
                code=FaultCode.ONE_GPU_A_COPY,
                pointer=f"/cards/{index}/layout",
                params={"workload": workload, "count": placement.count},
            )
        )


def _estimate_one(
    shared: Trials, tried: Tried, placement: Placement, index: int, alternatives: tuple[Placement, ...]
) -> DiffusionPlacement:
    found = placed(tried, placement)
    if not alternatives or found.verdict in GOOD:
        return found
    return msgspec.structs.replace(found, ways_to_fit=ways_to_fit(shared, placement, index, alternatives))


def _need(tried: Tried) -> DiffusionNeed:
    job, size = tried.job, tried.job.size
    held = None if job.trained is None else states(job, job.trained)
    return DiffusionNeed(
        weights_bytes=sum(part.bytes for part in job.parts) if held is None else round(held.weights),
        components=tuple(
            [
                ComponentNeed(
                    name=part.name,
                    part=str(part.component.__struct_config__.tag),
                    parameters=part.component.parameters,
                    format=part.format,
                    weights_bytes=part.bytes,
                    basis=part.basis,
                )
                for part in job.parts
            ]
        ),
        activations_bytes=round(
            max(activations(curve, size.batch, size.pixels, size.frames) for curve in tried.curves)
        ),
        gradients_bytes=0 if held is None else round(held.gradients),
        optimizer_bytes=0 if held is None else round(held.optimizer),
        trainable_parameters=0 if held is None else held.trainable,
    )


def _notices(job: DiffusionJob) -> tuple[Notice, ...]:
    guessed = [part.name for part in job.parts if part.basis is Basis.RULE_OF_THUMB and part.bytes]
    if not guessed:
        return ()
    return (notice(NoticeCode.COMPONENTS_ASSUMED, Severity.CAUTION, components=guessed),)
