"""What the speed model says of an option of /cost: which of its rooms is asked, by the workload or the unit of work."""

from __future__ import annotations

import msgspec

from cardmatch.answers.rates import encoders, pictures, serving, training
from cardmatch.catalogue.names.models import resolve_model_name
from cardmatch.catalogue.pipelines import loose_pipeline, named_pipeline
from cardmatch.catalogue.world import World
from cardmatch.engine.money.option import Measured, Option, Predicted, Reported
from cardmatch.engine.money.rating import Forecast, Predictor
from cardmatch.engine.money.work import WORK, Work
from cardmatch.engine.speed.throughput import WorkUnit, scaled
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal

UNITS = {
    serving.KIND: (WorkUnit.TOKEN, WorkUnit.OUTPUT_TOKEN, WorkUnit.REQUEST),
    training.KIND: (WorkUnit.TRAIN_TOKEN, WorkUnit.SAMPLE),
    pictures.KIND: (WorkUnit.IMAGE, WorkUnit.ITEM),
    encoders.KIND: (WorkUnit.ITEM, WorkUnit.REQUEST, WorkUnit.TOKEN),
}
"""What the work of each kind of workload is counted in."""

_OF_UNIT = {
    unit: kind for kind in (encoders.KIND, pictures.KIND, training.KIND, serving.KIND) for unit in UNITS[kind]
} | {WorkUnit.ITEM: encoders.KIND}


def predictor(world: World, work: Work, options: tuple[Option, ...]) -> Predictor:
    """Who predicts for *work*. Raises Invalid where a prediction is asked for and requests have no lengths."""
    unsaid = work.prompt_tokens is None or work.output_tokens is None
    lengths_missing = unsaid and work.unit in UNITS[serving.KIND]
    if lengths_missing and any(_kind(world, given, work.unit) == serving.KIND for given in _predictions(options)):
        raise refusal(FaultCode.REQUEST_LENGTHS_MISSING, WORK)

    def predict(option: Option, count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
        return _within(asked, modelled(option, count, asked, unit))

    def modelled(option: Option, count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
        kind = _kind(world, asked, unit)
        known = UNITS.get(kind)
        if known is not None and unit not in known:
            units = [each.value for each in known]
            raise refusal(FaultCode.UNIT_NOT_OF_WORKLOAD, "/workload/kind", workload=kind, unit=unit.value, has=units)
        if kind == training.KIND:
            return training.training_rate(world, option, count, asked, unit)
        if kind == pictures.KIND:
            return pictures.picture_rate(world, option, count, asked, unit)
        if kind == encoders.KIND:
            return encoders.encoder_rate(world, option, count, asked, unit)
        return serving.serving_rate(world, option, count, asked, unit, work)

    return predict


def _within(asked: Predicted, found: Forecast) -> Forecast:
    """*found* at the rate that *asked* states, as far off either way as the model is."""
    if asked.units_per_second is None:
        return found
    times = asked.units_per_second / found.throughput.expected_units_per_second
    return msgspec.structs.replace(found, throughput=scaled(found.throughput, times))


def _predictions(options: tuple[Option, ...]) -> list[Predicted]:
    """Every prediction that *options* ask for: as their rate, or beside a measured one."""
    found = []
    for option in options:
        given = option.throughput
        if isinstance(given, Measured | Reported):
            given = given.prediction
        if given is not None:
            found.append(given)
    return found


def _kind(world: World, asked: Predicted, unit: WorkUnit) -> str:
    """The kind of workload: as stated, else what the unit is made by; an item is what the model makes."""
    stated = asked.workload.get("kind")
    if stated is not None:
        return str(stated)
    if unit is WorkUnit.ITEM and _paints(world, asked):
        return pictures.KIND
    return _OF_UNIT[unit]


def _paints(world: World, asked: Predicted) -> bool:
    """Whether the model is a pipeline of images or videos."""
    model = asked.model
    if not isinstance(model, str):
        return model.get("kind") == pictures.KIND
    if named_pipeline(world.pipelines, model) is not None:
        return True
    try:
        resolve_model_name(world.model_index, model)
    except Invalid:
        return loose_pipeline(world.pipelines, model) is not None
    return False
