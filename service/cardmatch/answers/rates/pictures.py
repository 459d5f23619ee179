"""How fast a pipeline makes images or videos on the cards of an option."""

from __future__ import annotations

import msgspec

from cardmatch.answers.misfit import fitted
from cardmatch.answers.model import ModelReference
from cardmatch.answers.pipeline import resolve_pipeline
from cardmatch.answers.rates.where import in_units, told, where
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.diffusion.estimate import estimate_diffusion
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.diffusion.component import Medium
from cardmatch.engine.money.option import Option, Predicted
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.speed.pictures import making_speed, steps_of
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption

KIND = "diffusion"


class _Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prediction is of."""

    model: ModelReference
    workload: Diffusion


def picture_rate(world: World, option: Option, count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
    """Pictures a second on all GPUs of *option*, each of which runs a copy; a video is an item, not an image."""
    named = fitted({"model": asked.model, "workload": {"kind": KIND} | asked.workload}, _Asked)
    pipeline, workload = resolve_pipeline(world, named.model), named.workload
    settled = settle(workload, pipeline.pipeline)
    job = settled.job
    if not job.inference:
        raise refusal(FaultCode.THROUGHPUT_NOT_PREDICTED, "/workload/task")
    if pipeline.pipeline.medium is Medium.VIDEO and unit is WorkUnit.IMAGE and job.size.frames > 1:
        item = WorkUnit.ITEM.value
        raise refusal(FaultCode.UNIT_OF_OTHER_WORK, "/model", unit=item, work_unit=unit.value)
    here, copies = where(world, option, count, asked.copies), asked.copies.copies if asked.copies else count
    fits = estimate_diffusion(pipeline.pipeline, workload, (here.copies(),), world.calibration.diffusion)
    if fits.placements[0].verdict is Verdict.DOES_NOT_FIT:
        raise here.too_small()
    speed = making_speed(job, here.chip, world.calibration.speed)
    if speed is None:
        raise refusal(FaultCode.THROUGHPUT_NOT_PREDICTED, "/model")
    said = list(settled.assumptions)
    if workload.denoise_steps is None:
        said.append(Assumption(pointer="/workload/denoise_steps", value=steps_of(job)))
    return Forecast(
        throughput=in_units(unit, speed.images_per_second, copies), assumed=told(*pipeline.assumptions, *said)
    )
