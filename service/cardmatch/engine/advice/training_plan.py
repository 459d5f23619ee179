"""Half an hour that shows whether the prediction of a training run holds."""

from __future__ import annotations

import msgspec

from cardmatch.engine.advice.answer import Metric, RecommendedOption, Step, Verification, spare_of
from cardmatch.engine.advice.pace import SpeedBand
from cardmatch.engine.money.option import Measured, Predicted
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.work import Job

_INSTALL = "pip install trl peft bitsandbytes accelerate kernels liger-kernel"
_HALF_AN_HOUR = (10, 15, 5)
_SEND = (
    "jq --argjson rate $TOKENS_PER_SECOND '.options[0].throughput.units_per_second = $rate' report.json "
    "| curl -s $CARDMATCH/cost -H 'Content-Type: application/json' -d @-"
)
"""`report.json` is the plan's `report`; the Trainer prints its tokens per second at the end."""


def plan(option: RecommendedOption) -> Verification:
    """Half an hour: install, fifty steps while memory is watched, and the rate sent back."""
    install, drive, send = _HALF_AN_HOUR
    memory = option.training_per_gpu.total if option.training_per_gpu else None
    speed, cost, budget = option.speed, option.cost, option.budget_bytes
    steps = (
        Step(minutes=install, command=_INSTALL),
        Step(minutes=drive, command=f"{option.command} --max_steps 50 --include_num_input_tokens_seen all"),
        Step(minutes=send, command=_SEND),
    )
    metrics = (
        _metric("train_tokens_per_second", "tokens_per_second", _rates(speed)),
        _metric("finished_run", "hours", _hours(option)),
        _metric(
            "headroom_bytes",
            "bytes",
            spare_of(budget, memory) if memory else None,
        ),
        _metric(
            "cost_per_finished_work",
            "usd",
            (cost.total.low_usd, cost.total.expected_usd, cost.total.high_usd) if cost else None,
        ),
    )
    return Verification(option=option.id, steps=steps, metrics=metrics, report=_report(option))


def _report(option: RecommendedOption) -> CostQuestion | None:
    """The question of the option with the rate that was measured in place of the prediction, which stays beside it."""
    question, speed = option.cost_request, option.speed
    if question is None or speed is None:
        return None
    asked = question.options[0]
    predicted = asked.throughput if isinstance(asked.throughput, Predicted) else None
    measured = Measured(units_per_second=speed.expected_units_per_second, prediction=predicted)
    return msgspec.structs.replace(question, options=(msgspec.structs.replace(asked, throughput=measured),))


def _rates(speed: SpeedBand | None) -> tuple[float, float, float] | None:
    if speed is None:
        return None
    return speed.low_units_per_second, speed.expected_units_per_second, speed.high_units_per_second


def _hours(option: RecommendedOption) -> tuple[float, float, float] | None:
    rates = _rates(option.speed)
    question = option.cost_request
    if rates is None or question is None or not isinstance(question.work, Job):
        return None
    low, expected, high = (question.work.units / rate / 3600 for rate in rates)
    return high, expected, low


def _metric(name: str, unit: str, values: tuple[float, float, float] | None) -> Metric:
    low, expected, high = values if values is not None else (None, None, None)
    return Metric(metric=name, unit=unit, low=low, expected=expected, high=high)
