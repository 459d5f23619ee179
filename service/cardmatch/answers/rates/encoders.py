"""How fast texts are embedded or ranked, and speech is written down, on the cards of an option."""

from __future__ import annotations

import msgspec

from cardmatch.answers.misfit import fitted
from cardmatch.answers.model import ModelReference, resolve_model
from cardmatch.answers.rates.where import in_units, told, where
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.encode.estimate import estimate_encode
from cardmatch.engine.memory.encode.job import settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.money.option import Option, Predicted
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.speed.encoded import encoder_shape, encoding_speed
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption

KIND = "encode"
WINDOWS_AT_ONCE = 8
"""faster-whisper's own batch of windows."""

TEXTS_AT_ONCE = 32
"""The batch of sentence-transformers' `encode` and `predict`; whoever has many texts sends many at once."""


class _Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prediction is of."""

    model: ModelReference
    workload: Encode


def encoder_rate(world: World, option: Option, count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
    """Items a second on all GPUs of *option*, each of which runs a copy.

    An item is a text, a pair, or a piece of audio as long as the workload says; tokens are those that are read.
    """
    named = fitted({"model": asked.model, "workload": {"kind": KIND} | asked.workload}, _Asked)
    model, workload = resolve_model(world, named.model, KIND), named.workload
    if "kind" not in asked.workload and model.architecture.output_head and model.architecture.encoder is None:
        raise refusal(FaultCode.NEEDS_FIELD, "/workload", field="kind")
    speech, said = workload.task is EncodeTask.SPEECH, []
    if speech and unit is WorkUnit.TOKEN:
        raise refusal(FaultCode.UNIT_OF_OTHER_WORK, "/workload/task", unit=WorkUnit.ITEM.value, work_unit=unit.value)
    if workload.batch is None:
        workload = msgspec.structs.replace(workload, batch=WINDOWS_AT_ONCE if speech else TEXTS_AT_ONCE)
        said.append(Assumption(pointer="/workload/batch", value=workload.batch or 1))
    if workload.weights == "as_published":
        said.append(Assumption(pointer="/workload/weights", value=model.checkpoint.format))
    job = settle(workload, model.architecture, model.checkpoint)
    here, copies = where(world, option, count, asked.copies), asked.copies.copies if asked.copies else count
    fits = estimate_encode(
        model.architecture, model.checkpoint, workload, (here.copies(),), world.calibration.diffusion
    )
    if fits.placements[0].verdict is Verdict.DOES_NOT_FIT:
        raise here.too_small()
    speed = encoding_speed(
        job, encoder_shape(job), here.chip, world.calibration.speed, batch=job.batch, tokens=job.tokens
    )
    band = speed.tokens_per_second if unit is WorkUnit.TOKEN else speed.items_per_second
    return Forecast(
        throughput=in_units(unit, band, copies),
        assumed=told(*model.assumptions, *said, *job.assumptions),
        notices=model.notices,
    )
