"""How fast a language model answers in copies that lie as the question says: the search's own speeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from cardmatch.answers.model import Resolved
from cardmatch.answers.rates.where import Where, told, where
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import World
from cardmatch.engine.advice.pace import Served
from cardmatch.engine.advice.paced import paces_of
from cardmatch.engine.hardware.card import mig_profile
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.registry import AnyEngine, arranged, reserve
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.money.copies import Copies
from cardmatch.engine.money.option import Option
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.speed.placed import times_slower
from cardmatch.engine.speed.throughput import Throughput, WorkUnit
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Assumption

_CONCURRENCY = "/workload/concurrency"


class Copied(NamedTuple):
    """The copies, their model and workload with its lengths settled, and tokens of a request in and out."""

    copies: Copies
    model: Resolved
    workload: Inference
    prompt_tokens: int
    output_tokens: int


def copied_rate(world: World, option: Option, count: int, asked: Copied, unit: WorkUnit) -> Forecast:
    """The rate of all copies of *asked* on the *count* GPUs of *option*. Raises Invalid with pointers into it."""
    copies, workload, model = asked.copies, asked.workload, asked.model
    here = where(world, option, count, copies)
    _check_room(copies, here)
    each = None if workload.concurrency is None else workload.concurrency / copies.copies
    alone = msgspec.structs.replace(workload, concurrency=None if each is None else max(1, math.ceil(each)))
    job, assumed = settle(alone, model.architecture, model.checkpoint, model.spread)
    served = _served(world, here, asked, job, each)
    said = [given for given in assumed if given.pointer != _CONCURRENCY]
    if each is None:
        said.append(Assumption(pointer=_CONCURRENCY, value=max(round(served.batch * copies.copies), 1)))
    rate = served.requests_per_second * copies.copies
    rate *= asked.output_tokens / tokens_each(unit, asked.prompt_tokens, asked.output_tokens)
    throughput = Throughput(
        unit=unit,
        low_units_per_second=rate * served.low_ratio,
        expected_units_per_second=rate,
        high_units_per_second=rate * served.high_ratio,
        basis=served.basis,
    )
    return Forecast(throughput=throughput, assumed=told(*model.assumptions, *said), notices=model.notices)


def tokens_each(unit: WorkUnit, prompt_tokens: int, output_tokens: int) -> float:
    """Output tokens that are written for one *unit* of requests of these lengths."""
    if unit is WorkUnit.REQUEST:
        return output_tokens
    return 1.0 if unit is WorkUnit.OUTPUT_TOKEN else output_tokens / (prompt_tokens + output_tokens)


def _check_room(copies: Copies, here: Where) -> None:
    """The GPUs hold the copies, and each machine as many stages of one. Raises Invalid."""
    if copies.pipeline % copies.nodes:
        raise refusal(FaultCode.CONFLICTS_WITH, "/copies/nodes", field="pipeline")
    profile = mig_profile(here.card, copies.mig) if copies.mig else None
    slices = profile.max_count if profile else 1
    most = here.placement.count * slices // copies.layout.gpus
    if copies.copies > most:
        raise refusal(FaultCode.TOO_LARGE, "/copies/copies", maximum=most)


def _served(world: World, here: Where, asked: Copied, job: ServingJob, each: float | None) -> Served:
    """One copy at *each* requests at once, or at all that it holds."""
    layout, engine = asked.copies.layout, asked.workload.engine
    one = arranged(engine, msgspec.structs.replace(here.placement, count=layout.gpus, layout=layout))
    found = _placed(world, job, engine, one)
    if found.verdict is Verdict.DOES_NOT_FIT or not found.max_concurrency:
        raise here.too_small()
    pace = paces_of(world.calibration.speed, presets().network, exact_model=asked.model.size is None).serving
    curve = None if pace is None else pace(job, engine, here.card, one, asked.prompt_tokens, asked.output_tokens)
    if curve is None:
        raise refusal(FaultCode.THROUGHPUT_NOT_PREDICTED, "/kind")
    most = found.max_concurrency
    if each is not None and each > most:  # the search counts what fits beside the buffers of one request
        most = max(most, _placed(world, msgspec.structs.replace(job, concurrency=1), engine, one).max_concurrency)
    served = curve(min(each or most, most))
    return _slowed(served, *times_slower(found))


def _placed(world: World, job: ServingJob, engine: AnyEngine, one: Placement) -> PlacementEstimate:
    try:
        return place(job, one, reserve(job, engine, one, world.calibration.serving))
    except Invalid as invalid:
        raise invalid.under("/copies") from None


def _slowed(served: Served, least: float, most: float) -> Served:
    """*served* where weights in RAM make every step *least* to *most* times as long."""
    least, most = max(least, 1.0), max(most, 1.0)
    if most <= 1:
        return served
    times = (least * most) ** 0.5
    return msgspec.structs.replace(
        served,
        requests_per_second=served.requests_per_second / times,
        low_ratio=served.low_ratio * times / most,
        high_ratio=served.high_ratio * times / least,
        basis=Basis.RULE_OF_THUMB,
    )
