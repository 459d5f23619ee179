"""The public call of POST /recommend for pictures and videos: which card, in which settings, for how much."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial

import msgspec

from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.items.answer import answered, objective_of, on_sale
from cardmatch.engine.advice.items.bench import Bench
from cardmatch.engine.advice.items.load import IMAGES, VIDEOS, items_demanded
from cardmatch.engine.advice.items.picture_trade import Pictures, picture_trade
from cardmatch.engine.advice.items.picture_trials import SETTINGS, Painting, trials
from cardmatch.engine.advice.items.search import Copies
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.advice.recommend import Shelf
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration, factors
from cardmatch.engine.memory.diffusion.estimate import notices_of
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.placed import attempt
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.ways import Trials
from cardmatch.engine.memory.diffusion.workload import Diffusion, Task
from cardmatch.engine.memory.reason import check_reason
from cardmatch.engine.models.diffusion.component import Medium, Pipeline
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.pictures import steps_of
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Question, QuestionCode

_ENGINE = "diffusers"
_BF16 = "bf16"


def recommend_pictures(
    pipeline: Pipeline,
    named: Named,
    workload: Diffusion,
    wanted: Wanted,
    shelf: Shelf,
    calibration: DiffusionCalibration,
    speed: SpeedCalibration,
    presets: Presets,
    *,
    priced_on: dt.date,
) -> Recommended:
    """The cards for *workload*, best first. Raises Invalid with pointers into the request."""
    settled, known = settle(workload, pipeline), factors(calibration)
    job = settled.job
    first = attempt(job, known, calibration)
    check_reason(first.process.high_bytes, "width_pixels" if workload.batch is None else "batch")
    _check(wanted, job)
    presets = msgspec.structs.replace(presets, accuracy={})  # of language models; of pictures nobody measured it
    kind = VIDEOS if pipeline.medium is Medium.VIDEO else IMAGES
    demand, assumed = items_demanded(wanted, kind, presets)
    objective, ranked = objective_of(wanted, demand)
    sale = on_sale(wanted, shelf, presets, priced_on)
    painting = Painting(
        Trials(job, pipeline, known, calibration, {repr([]): first}), demand, wanted, presets, speed, {}
    )
    return answered(
        Bench(
            copies=Copies(demand, wanted, objective, presets, _ENGINE, _unfit(job), partial(trials, painting)),
            trade=picture_trade(Pictures(painting, named)),
            named=named,
            shelf=shelf,
            market=sale.market,
            ledger=sale.ledger,
            assumptions=(*settled.assumptions, *_steps(job), *assumed, *ranked),
            ask_next=_ask_next(workload, job, stated=demand.stated),
            notices=notices_of(job),
        )
    )


def _check(wanted: Wanted, job: DiffusionJob) -> None:
    """Formats are those of components; nothing has a cache; training makes no pictures."""
    for index, name in enumerate(wanted.allow.weights or ()):
        if name not in SETTINGS:
            raise refusal(FaultCode.WRONG_VALUE, f"/allow/weights/{index}", value=name, known=list(SETTINGS))
    if wanted.allow.kv_cache is not None:
        raise refusal(FaultCode.CONFLICTS_WITH, "/allow/kv_cache", field="workload")
    for field in ("load", "job"):
        if not job.inference and getattr(wanted, field) is not None:
            task = job.workload.task.value
            raise refusal(FaultCode.FIELD_OF_OTHER_TASK, f"/{field}", task=task, tasks=[Task.INFERENCE.value])


def _unfit(job: DiffusionJob) -> Callable[[Card], str | None]:
    """BF16 pipelines, on cards that are not known to multiply it."""
    needs = any(part.format == _BF16 for part in job.parts)

    def unfit(card: Card) -> str | None:
        return _BF16 if needs and card.dense.bf16_tflops is None else None

    return unfit


def _steps(job: DiffusionJob) -> tuple[Assumption, ...]:
    if job.workload.denoise_steps is not None or not job.inference:
        return ()
    return (Assumption(pointer="/workload/denoise_steps", value=steps_of(job)),)


def _ask_next(workload: Diffusion, job: DiffusionJob, *, stated: bool) -> Question | None:
    """How many, else how many steps, else how large: in the order of how much each moves the answer."""
    if not job.inference:
        return None
    missing = (
        (QuestionCode.PICTURES, "/job/images", not stated),
        (QuestionCode.DENOISE_STEPS, "/workload/denoise_steps", workload.denoise_steps is None),
        (QuestionCode.PICTURE_SIZE, "/workload/width_pixels", workload.width_pixels is None),
    )
    return next((Question(code=code, pointer=pointer) for code, pointer, absent in missing if absent), None)
