"""Half an hour that shows whether a prediction of pictures, texts or recordings holds: four metrics and a report."""

from __future__ import annotations

import msgspec

from cardmatch.engine.advice.answer import (
    Metric,
    RecommendedOption,
    Step,
    Verification,
    memory_of,
    ratios_of,
    spare_of,
)
from cardmatch.engine.money.option import Measured, Predicted
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.speed.throughput import SLOWEST, WorkUnit

SEND = "curl -s $CARDMATCH/cost -H 'Content-Type: application/json' -d @report.json"
WATCH = "nvidia-smi --query-gpu=memory.used,memory.total --format=csv -l 1"


def plan(option: RecommendedOption, steps: tuple[Step, ...]) -> Verification:
    """The plan for *option*: *steps* on one copy, what is predicted for it, and the question that takes the rate."""
    return Verification(option=option.id, steps=steps, metrics=_metrics(option), report=_report(option))


def _metrics(option: RecommendedOption) -> tuple[Metric, ...]:
    """Rate of one copy, seconds of one unit, memory to spare, cost of the finished work: row 26."""
    speed, memory, cost, budget = option.speed, memory_of(option), option.cost, option.budget_bytes
    unit = "items" if speed is None else f"{speed.unit}s"
    rate = seconds = None
    if speed is not None:
        full = speed.capacity_units_per_second / option.copies
        low, high = ratios_of(option) or (1.0, 1.0)
        rate = (full * low, full, full * high)
        if speed.request_seconds is not None and low and high:
            seconds = (speed.request_seconds / high, speed.request_seconds, speed.request_seconds / low)
    spare = bill = None
    if memory is not None:
        spare = spare_of(budget, memory)
    if cost is not None:
        bill = (cost.total.low_usd, cost.total.expected_usd, cost.total.high_usd)
    return (
        _metric(f"{unit}_per_second_per_copy", f"{unit}_per_second", rate),
        _metric("request_latency", "seconds", seconds),
        _metric("headroom_bytes", "bytes", spare),
        _metric("cost_per_finished_work", "usd", bill),
    )


def _metric(name: str, unit: str, values: tuple[float, float, float] | None) -> Metric:
    low, expected, high = values if values is not None else (None, None, None)
    return Metric(metric=name, unit=unit, low=low, expected=expected, high=high)


def _report(option: RecommendedOption) -> CostQuestion | None:
    """The question of the option with a measured rate, to be filled in, beside the prediction."""
    question, speed = option.cost_request, option.speed
    if question is None or speed is None:
        return None
    asked = question.options[0]
    predicted = asked.throughput if isinstance(asked.throughput, Predicted) else None
    rate = max(speed.capacity_units_per_second, SLOWEST)
    measured = Measured(units_per_second=rate, unit=WorkUnit(speed.unit), prediction=predicted)
    return msgspec.structs.replace(question, options=(msgspec.structs.replace(asked, throughput=measured),))
