"""From a load or a job to pictures, texts or recordings per second, or in all, with what was assumed."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.advice.load import LOAD, Demand, arrivals, check_ways
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import JobOfWork, Load, Wanted
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Scalar

_JOB = "/job"
_OF_WORDS = ("output_tokens", "output_tokens_p95", "ttft_seconds", "min_tokens_per_second_per_user")
_OF_TRAINING = ("train_tokens", "examples", "mean_tokens_per_example", "epochs")
_REQUESTS = ("requests_per_second", "requests_per_hour", "requests_per_day")


class Kind(NamedTuple):
    """What is counted: the unit of its work, the rates and the fields of a job that may say how many.

    Only texts have lengths that a load may state.
    """

    unit: WorkUnit
    rates: tuple[str, ...]
    amounts: tuple[str, ...]
    texts: bool


IMAGES = Kind(WorkUnit.IMAGE, (*_REQUESTS, "images_per_second", "images_per_hour"), ("images", "items"), texts=False)
VIDEOS = IMAGES._replace(unit=WorkUnit.ITEM)
TEXTS = Kind(WorkUnit.ITEM, (*_REQUESTS, "items_per_second", "items_per_hour"), ("items",), texts=True)
RECORDINGS = TEXTS._replace(texts=False)


def items_demanded(wanted: Wanted, kind: Kind, presets: Presets) -> tuple[Demand, tuple[Assumption, ...]]:
    """What *wanted* asks for in units of *kind*. Raises Invalid with pointers into it."""
    load, job = wanted.load, wanted.job
    items = None if job is None else _amount(job, kind)
    assumed: dict[str, Scalar] = {}
    peak = mean = concurrency = None
    if load is not None:
        _check(load, kind)
        check_ways(load, kind.rates, job)
        peak, mean, concurrency = arrivals(load, presets, assumed)
    demand = Demand(
        prompt_tokens=(load.prompt_tokens if load else None) or 1,
        output_tokens=1,
        longest_output_tokens=1,
        concurrency=concurrency,
        peak_rate=peak,
        mean_rate=mean,
        ttft_seconds=None,
        tpot_seconds=None,
        latency_seconds=load.p95_latency_seconds if load else None,
        items=items,
        deadline_hours=job.deadline_hours if job else None,
        tenants=wanted.instances,
        stated=load is not None or job is not None,
        unit=kind.unit,
    )
    return demand, tuple([Assumption(pointer=pointer, value=value) for pointer, value in assumed.items()])


def _check(load: Load, kind: Kind) -> None:
    """Nothing here writes an answer token by token."""
    for name in _OF_WORDS if kind.texts else ("prompt_tokens", *_OF_WORDS):
        if getattr(load, name) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"{LOAD}/{name}", field="workload")


def _amount(job: JobOfWork, kind: Kind) -> float:
    """How many *job* is of, once for each of its amounts that says so. Raises Invalid."""
    others = tuple(name for name in ("images", "items") if name not in kind.amounts)
    for name in (*_OF_TRAINING, *others):
        if getattr(job, name) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"{_JOB}/{name}", field="workload")
    found = [count for name in kind.amounts if (count := getattr(job, name)) is not None]
    if len(found) > 1:
        raise refusal(FaultCode.EXACTLY_ONE_OF, _JOB, fields=list(kind.amounts))
    if not found:
        raise refusal(FaultCode.MISSING_FIELD, _JOB, field=kind.amounts[0])
    return float(found[0])
