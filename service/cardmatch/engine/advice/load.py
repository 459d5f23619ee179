"""From a load or a job to what one copy of the model must hold and how fast it must answer, with what was assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.presets import Lengths, Presets
from cardmatch.engine.advice.question import JobOfWork, Load, Wanted
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import DEFAULT_CONTEXT_TOKENS
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Scalar

SECONDS_OF = {
    "requests_per_second": 1,
    "requests_per_hour": 3600,
    "requests_per_day": 86_400,
    "images_per_second": 1,
    "images_per_hour": 3600,
    "items_per_second": 1,
    "items_per_hour": 3600,
}
"""The rates that a load may state, and the seconds that each counts over."""

_REQUESTS = tuple(name for name in SECONDS_OF if name.startswith("requests"))
_A_QUARTER = 4
LOAD = "/load"


class Demand(NamedTuple):
    """A load, reckoned out: request lengths in tokens, requests at once or per second at the peak, limits in seconds.

    `mean_rate` is what a month is paid for; `items` and `deadline_hours` are of a job. `stated` says that the request
    gave a load or a job; `tenants` need a copy each. What is not a request of a language model has another *unit*.
    """

    prompt_tokens: int
    output_tokens: int
    longest_output_tokens: int
    concurrency: int | None
    peak_rate: float | None
    mean_rate: float | None
    ttft_seconds: float | None
    tpot_seconds: float | None
    latency_seconds: float | None
    items: float | None
    deadline_hours: float | None
    tenants: int
    stated: bool
    unit: WorkUnit = WorkUnit.REQUEST

    @property
    def requests(self) -> int | None:
        """Requests of a job; null where they keep coming."""
        return None if self.items is None else max(1, math.ceil(self.items))

    @property
    def has_target(self) -> bool:
        """Whether the request says how long a first token or a whole request may take."""
        return self.ttft_seconds is not None or self.latency_seconds is not None


class Asked(NamedTuple):
    """The workload with its lengths, the demand, and what was assumed."""

    workload: Inference
    demand: Demand
    assumptions: tuple[Assumption, ...]


def demanded(workload: Inference, wanted: Wanted, presets: Presets, limit_tokens: int | None) -> Asked:
    """What *wanted* asks of a model that reads at most *limit_tokens*. Raises Invalid with pointers into it."""
    assumed: dict[str, Scalar] = {}
    load = wanted.load
    _check_job(wanted.job)
    if load is not None:
        _check(load, workload, wanted.job)
    demand = _demand(load, wanted, workload, presets, limit_tokens, assumed)
    workload = _with_lengths(workload, demand, given=load is not None)
    notes = tuple(Assumption(pointer=pointer, value=value) for pointer, value in assumed.items())
    return Asked(workload, demand, notes)


def _check_job(job: JobOfWork | None) -> None:
    """What is served is items; training and pictures have workloads of their own."""
    if job is None:
        return
    for field in ("train_tokens", "examples", "images"):
        if getattr(job, field) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"/job/{field}", field="workload")
    if job.items is None:
        raise refusal(FaultCode.NEEDS_FIELD, "/job", field="items")


def _check(load: Load, workload: Inference, job: JobOfWork | None) -> None:
    for field in ("context_tokens", "concurrency", "mean_tokens_per_request"):
        if getattr(workload, field) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"/workload/{field}", field="load")
    check_ways(load, _REQUESTS, job)
    output, longest = load.output_tokens, load.output_tokens_p95
    if output is not None and longest is not None and longest < output:
        raise refusal(FaultCode.TOO_SMALL, f"{LOAD}/output_tokens_p95", minimum=output)


def check_ways(load: Load, rates: Iterable[str], job: JobOfWork | None) -> None:
    """One of *rates* or the concurrency says how much comes; with a *job* none does. Raises Invalid."""
    fields = [*rates, "concurrency"]
    for name in SECONDS_OF:
        if name not in fields and getattr(load, name) is not None:
            raise refusal(FaultCode.CONFLICTS_WITH, f"{LOAD}/{name}", field="workload")
    ways = [name for name in fields if getattr(load, name)]
    if len(ways) > 1 or (not ways and job is None):
        raise refusal(FaultCode.EXACTLY_ONE_OF, LOAD, fields=fields)
    if ways and job is not None:
        raise refusal(FaultCode.CONFLICTS_WITH, f"{LOAD}/{ways[0]}", field="job")


def _demand(
    load: Load | None,
    wanted: Wanted,
    workload: Inference,
    presets: Presets,
    limit_tokens: int | None,
    assumed: dict[str, Scalar],
) -> Demand:
    prompt, output = _lengths(load, workload, presets, limit_tokens, assumed)
    peak, mean, concurrency = _arrivals(load, workload, presets, assumed)
    job = wanted.job
    offline = job is not None
    return Demand(
        prompt_tokens=prompt,
        output_tokens=output,
        longest_output_tokens=(load.output_tokens_p95 if load else None) or output,
        concurrency=None if offline else concurrency,
        peak_rate=peak,
        mean_rate=mean,
        ttft_seconds=load.ttft_seconds if load else None,
        tpot_seconds=None if offline else _tpot(load, presets, assumed),
        latency_seconds=load.p95_latency_seconds if load else None,
        items=float(job.items) if job is not None and job.items else None,
        deadline_hours=job.deadline_hours if job is not None else None,
        tenants=wanted.instances,
        stated=load is not None or offline,
    )


def _lengths(
    load: Load | None, workload: Inference, presets: Presets, limit_tokens: int | None, assumed: dict[str, Scalar]
) -> tuple[int, int]:
    """Prompt and output; without a load a quarter of the context, at most the preset's output, is written."""
    usual = presets.lengths
    if load is not None:
        return _usual_lengths(load, usual, limit_tokens, assumed)
    context = workload.context_tokens or min(DEFAULT_CONTEXT_TOKENS, limit_tokens or DEFAULT_CONTEXT_TOKENS)
    mean = workload.mean_tokens_per_request or min(context, usual.prompt_tokens + usual.output_tokens)
    output = max(1, min(usual.output_tokens, mean // _A_QUARTER))
    prompt = max(1, mean - output)
    assumed[f"{LOAD}/prompt_tokens"] = prompt
    assumed[f"{LOAD}/output_tokens"] = output
    return prompt, output


def _usual_lengths(load: Load, usual: Lengths, limit_tokens: int | None, assumed: dict[str, Scalar]) -> tuple[int, int]:
    """Prompt and output as *load* states them, else the usual ones, as far as the model reads that much."""
    prompt, output, longest = load.prompt_tokens, load.output_tokens, load.output_tokens_p95
    most = limit_tokens or usual.prompt_tokens + usual.output_tokens
    if output is None:
        output = max(1, min(usual.output_tokens, longest or most, most // _A_QUARTER))
        assumed[f"{LOAD}/output_tokens"] = output
    if prompt is None:
        prompt = max(1, min(usual.prompt_tokens, most - (longest or output)))
        assumed[f"{LOAD}/prompt_tokens"] = prompt
    return prompt, output


def _arrivals(
    load: Load | None, workload: Inference, presets: Presets, assumed: dict[str, Scalar]
) -> tuple[float | None, float | None, int | None]:
    """Requests per second at the peak and on average, or requests at once."""
    if load is None:
        if workload.concurrency is None:
            assumed["/workload/concurrency"] = 1
        return None, None, workload.concurrency or 1
    return arrivals(load, presets, assumed)


def arrivals(load: Load, presets: Presets, assumed: dict[str, Scalar]) -> tuple[float | None, float | None, int | None]:
    """What *load* asks for per second at the peak and on average, or at once; what was assumed goes to *assumed*."""
    factor = load.peak_factor
    if load.requests_per_day is not None and factor is None:
        factor = assumed[f"{LOAD}/peak_factor"] = presets.peak_factor_per_day.factor
    for name, seconds in SECONDS_OF.items():
        count = getattr(load, name)
        if count is not None:
            mean = count / seconds
            return mean * (factor or 1.0), mean, None
    return None, None, None if load.concurrency is None else round(load.concurrency * (factor or 1.0))


def _tpot(load: Load | None, presets: Presets, assumed: dict[str, Scalar]) -> float:
    """Seconds that a token may take: as asked, else as fast as a reader wants it."""
    asked = load.min_tokens_per_second_per_user if load else None
    if asked is None:
        asked = assumed[f"{LOAD}/min_tokens_per_second_per_user"] = presets.interactive.min_tokens_per_second_per_user
    return 1.0 / asked


def _with_lengths(workload: Inference, demand: Demand, *, given: bool) -> Inference:
    """*workload* for one request: the longest that the load has, and on average half of its output written."""
    mean = demand.prompt_tokens + -(-demand.output_tokens // 2)
    if not given:
        return msgspec.structs.replace(workload, concurrency=1)
    context = demand.prompt_tokens + demand.longest_output_tokens
    return msgspec.structs.replace(workload, context_tokens=context, concurrency=1, mean_tokens_per_request=mean)
