"""Comparisons whose rates are predicted, asked for as on the wire."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from cardmatch.answers.cost import Cost, CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.speed.throughput import Throughput
from cardmatch.engine.terms.fault import Fault, Invalid
from cardmatch.text.language import Language


def answered(model: Any, work: dict[str, Any], workload: dict[str, Any] | None = None, **option: Any) -> Cost:
    """The answer for one option at two dollars an hour, its rate predicted for *model* and *workload*."""
    throughput = {"kind": "predicted", "model": model, "workload": workload or {}}
    body = {
        "options": [
            {
                "label": "a",
                "card": "h100-sxm-80",
                "price": {"kind": "caller", "usd_per_hour": 2.0},
                "charges": {"billing_increment_seconds": 1},
                "throughput": throughput,
            }
            | option
        ],
        "work": {"kind": "job", "units": 1000} | work,
    }
    return cost(bundled(), msgspec.convert(body, CostRequest), Language.EN, dt.date(2026, 11, 30))


def option_of(answer: Cost) -> OptionCost:
    """The one option."""
    (option,) = answer.options
    return option


def rate_of(answer: Cost) -> Throughput:
    """The rate of its one option."""
    used = option_of(answer).rate
    assert used is not None
    return used.throughput


def refused(model: Any, work: dict[str, Any], workload: dict[str, Any] | None = None, **option: Any) -> Fault:
    """The fault that the question is refused with."""
    try:
        answered(model, work, workload, **option)
    except Invalid as invalid:
        return invalid.faults[0]
    raise AssertionError("answered what should be refused")


def assumed(answer: Cost) -> dict[str, Any]:
    """What was assumed, by the end of its pointer."""
    return {each.pointer.removeprefix("/options/0/throughput"): each.value for each in answer.assumptions}
