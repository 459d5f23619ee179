"""Training over several machines: what the network carries is in the rate, in the bill, and in what /cost says."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.recommend import Recommendation, RecommendRequest, recommendation
from cardmatch.catalogue.world import bundled
from cardmatch.text.language import Language

PRE_TRAINING: dict[str, Any] = {"model": "7B", "nodes": 8, "limit": 20, "job": {"train_tokens": 1e11}}


def trained(**workload: Any) -> Recommendation:
    """The machines for pre-training on a hundred billion tokens."""
    body = {**PRE_TRAINING, "workload": {"kind": "training", "method": "full", **workload}}
    return recommendation(bundled(), msgspec.convert(body, RecommendRequest), Language.EN, dt.date(2026, 11, 30))


def test_a_run_does_not_span_machines_for_nothing() -> None:
    """With one pass a step, 45 GB cross 1.25 GB/s for every 2,048 tokens: never the cheaper."""
    assert trained().options[0].machines == 1


@pytest.mark.parametrize("sharding", ["ddp", "hsdp"])
def test_accumulation_makes_machines_worth_renting(sharding: str) -> None:
    """Gradients that are summed once in 64 passes leave most of each machine's speed; never more than all of it."""

    def rates(passes: int) -> dict[int, float]:
        body = {"sharding": sharding, "gradient_accumulation_steps": passes}
        job: dict[str, Any] = {**PRE_TRAINING, "constraints": {"cards": ["h200-sxm"]}, "limit": 50}
        asked = {**job, "workload": {"kind": "training", "method": "full", **body}, "objective": "throughput"}
        found = recommendation(bundled(), msgspec.convert(asked, RecommendRequest), Language.EN, dt.date(2026, 11, 30))
        spread = [option for option in found.options if option.machines > 1 and option.speed is not None]
        return {o.count: o.speed.expected_units_per_second / o.count for o in spread if o.speed is not None}

    seldom, often = rates(64), rates(1)
    both = seldom.keys() & often.keys()
    assert both
    assert all(seldom[count] > 10 * often[count] for count in both)
