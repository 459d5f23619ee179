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
from cardmatch.engine.memory.diffusion.sides import told
from cardmatch.engine.memory.diffusion.steps import states
from cardmatch.engine.memory.diffusion.ways import GOOD, Trials, ways_to_fit
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.explain.diffusion import explain_diffusion
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reason import check_copies, check_reason
from cardmatch.engine.models.diffusion.component import Autoencoder, Pipeline, TextEncoder, total_parameters
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_USUAL: dict[type, str] = {TextEncoder: "text_encoder", Autoencoder: "vae"}
"""What every pipeline has beside its denoiser, by the name that it usually bears."""


def estimate_diffusion(
    pipeline: Pipeline,
    workload: Diffusion,
    placements: tuple[Placement, ...],
    calibration: DiffusionCalibration,
    *,
    alternatives: tuple[Placement, ...] = (),
    explained: bool = False,
) -> DiffusionEstimate:
    """Estimate *workload* on each of *placements*.

    *alternatives* are further placements that ways to fit may name, smallest first; without any none is computed.
    *explained* adds each figure's reckoning. Raises Invalid with pointers into the request.
    """
    settled, known = settle(workload, pipeline), factors(calibration)
    job = settled.job
    tried = attempt(job, known, calibration)
    check_reason(tried.process.high_bytes, "width_pixels" if workload.batch is None else "batch")
    shared = Trials(job, pipeline, known, calibration, {repr([]): tried})
    for index, placement in enumerate(placements):
        check_copies(placement, index, "diffusion")
    return DiffusionEstimate(
        parameters=total_parameters(pipeline),
        need=_need(tried),
        least_bytes=round(tried.top.floor),
        placements=tuple(
            [
                _estimate_one(shared, tried, placement, index, alternatives, explained=explained)
                for index, placement in enumerate(placements)
            ]
        ),
        assumptions=settled.assumptions,
        notices=notices_of(job),
        batch=job.size.batch,
        width_pixels=job.size.width,
        height_pixels=job.size.height,
        frames=job.size.frames,
    )


def _estimate_one(
    shared: Trials,
    tried: Tried,
    placement: Placement,
    index: int,
    alternatives: tuple[Placement, ...],
    *,
    explained: bool,
) -> DiffusionPlacement:
    found = placed(tried, placement)
    if explained:
        lines = explain_diffusion(tried, found, placement, shared.calibration)
        found = msgspec.structs.replace(found, explanation=lines)
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


def notices_of(job: DiffusionJob) -> tuple[Notice, ...]:
    """What is said of a job whatever the card."""
    found = list(told(job))
    guessed = [part.name for part in job.parts if part.basis is Basis.RULE_OF_THUMB and part.bytes]
    if guessed:
        found.append(notice(NoticeCode.COMPONENTS_ASSUMED, Severity.CAUTION, components=guessed))
    kinds = {type(part.component) for part in job.parts}
    missing = [name for kind, name in _USUAL.items() if kind not in kinds]
    if missing and job.inference:
        found.append(notice(NoticeCode.COMPONENTS_MISSING, Severity.CAUTION, components=missing))
    return tuple(found)
