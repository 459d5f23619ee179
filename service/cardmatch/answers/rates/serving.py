"""How fast a language model answers on the cards of an option."""

from __future__ import annotations

import msgspec

from cardmatch.answers.misfit import fitted
from cardmatch.answers.model import ModelReference, check_generates, resolve_model
from cardmatch.answers.rates.copied import Copied, copied_rate, tokens_each
from cardmatch.answers.rates.where import in_units, told, where
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.money.option import Option, Predicted
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.money.work import Work
from cardmatch.engine.speed.band import SpeedBand
from cardmatch.engine.speed.placed import seated
from cardmatch.engine.speed.serving import ServingLoad, serving_speed
from cardmatch.engine.speed.shape import shape_of
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.notice import Assumption

KIND = "inference"
_CONCURRENCY = "/workload/concurrency"


class _Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prediction is of."""

    model: ModelReference
    workload: Inference


def serving_rate(world: World, option: Option, count: int, asked: Predicted, unit: WorkUnit, work: Work) -> Forecast:
    """The rate on all GPUs of *option*: at the workload's concurrency, or with every slot taken."""
    prompt, output = work.prompt_tokens or 1, work.output_tokens or 1
    named = fitted({"model": asked.model, "workload": {"kind": KIND} | asked.workload}, _Asked)
    workload, model = named.workload, resolve_model(world, named.model)
    check_generates(model, KIND)
    tokens = prompt + output
    context = max(tokens, workload.context_tokens or 0)
    asked_for = msgspec.structs.replace(workload, context_tokens=context, mean_tokens_per_request=tokens)
    if asked.copies is not None:
        mean = workload.mean_tokens_per_request or tokens
        asked_for = msgspec.structs.replace(asked_for, mean_tokens_per_request=mean)
        return copied_rate(world, option, count, Copied(asked.copies, model, asked_for, prompt, output), unit)
    job, assumed = settle(asked_for, model.architecture, model.checkpoint, model.spread)
    here = where(world, option, count)
    seat = seated(job, workload.engine, here.placement, here.chip, world.calibration.serving)
    if seat is None:
        raise here.too_small()
    load = ServingLoad(prompt_tokens=prompt, output_tokens=output, concurrency=workload.concurrency)
    speed = serving_speed(shape_of(job), seat, load, world.calibration.speed, exact_model=model.size is None)
    said = [each for each in assumed if each.pointer != _CONCURRENCY]
    if workload.concurrency is None:
        said.append(Assumption(pointer=_CONCURRENCY, value=max(round(speed.requests_at_once), 1)))
    return Forecast(
        throughput=in_units(
            unit, _slowed(speed.output_tokens_per_second, *seat.times_slower), 1 / tokens_each(unit, prompt, output)
        ),
        assumed=told(*model.assumptions, *said),
        notices=model.notices,
    )


def _slowed(rate: SpeedBand, least: float, most: float) -> SpeedBand:
    """*rate* where every step takes *least* to *most* times as long."""
    if most <= 1:
        return rate
    least = max(least, 1.0)
    expected = rate.expected / (least * most) ** 0.5
    return SpeedBand(low=rate.low / most, expected=expected, high=rate.high / least, basis=Basis.RULE_OF_THUMB)
