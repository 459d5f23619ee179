"""How fast a model trains on the cards of an option."""

from __future__ import annotations

import msgspec

from cardmatch.answers.misfit import fitted
from cardmatch.answers.model import ModelReference, resolve_model
from cardmatch.answers.rates.where import in_units, told, where
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.money.option import Option, Predicted
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.speed.training import run_of, training_speed
from cardmatch.engine.terms.units import GB

KIND = "training"


class _Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prediction is of."""

    model: ModelReference
    workload: Training


def training_rate(world: World, option: Option, count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
    """The speed of training on all GPUs of *option*; a sample is a sequence of the workload's length."""
    named = fitted({"model": asked.model, "workload": {"kind": KIND} | asked.workload}, _Asked)
    model = resolve_model(world, named.model, KIND)
    job, assumed = settle(named.workload, model.architecture, model.checkpoint, model.spread)
    here = where(world, option, count, asked.copies)
    memory = estimate_training(
        model.architecture, model.checkpoint, named.workload, (here.copies(),), world.calibration.training
    )
    if memory.placements[0].verdict is Verdict.DOES_NOT_FIT:
        raise here.too_small()
    between = presets().network.gb_s * GB
    run = run_of(job, count, machines=here.machines, network_bytes=between, link=here.placement.link)
    speed = training_speed(run, here.chip, world.calibration.speed)
    each = 1.0 if unit is WorkUnit.TRAIN_TOKEN else 1 / job.sequence_tokens
    return Forecast(
        throughput=in_units(unit, speed.tokens_per_second, each),
        assumed=told(*model.assumptions, *assumed),
        notices=model.notices,
    )
