"""What a recommendation hands out to post to /cost is answered there as it is, and says the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.text.language import Language
from tests.answers.stories.asking import DAY, recommended

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
REQUESTS: dict[str, dict[str, Any]] = {
    "one": {"model": "llama 3.1 8b", "load": {**LENGTHS, "concurrency": 1}},
    "many": {"model": "llama 3.1 8b", "load": {**LENGTHS, "concurrency": 2000}},
    "a day": {"model": "llama 3.1 8b", "load": {**LENGTHS, "requests_per_day": 10_000}},
    "queued": {"model": "qwen3 32b", "load": {**LENGTHS, "requests_per_second": 5, "p95_latency_seconds": 15}},
    "70b": {"model": "llama 3.1 70b", "load": {"prompt_tokens": 7500, "output_tokens": 500, "concurrency": 32}},
    "405b": {"model": "llama 3.1 405b", "load": {**LENGTHS, "concurrency": 8}},
    "moe": {"model": "qwen3 30b a3b", "load": {**LENGTHS, "concurrency": 64}},
    "bare": {"model": "13B"},
    "slices": {"model": "7B", "instances": 6, "allow": {"weights": ["awq_int4"]}, "constraints": {"isolation": "mig"}},
    "job": {"model": "llama 3.1 8b", "load": LENGTHS, "job": {"items": 1_000_000, "deadline_hours": 12}},
    "latency": {"model": "llama 3.1 8b", "load": {**LENGTHS, "concurrency": 8}, "objective": "latency"},
    "spot": {
        "model": "llama 3.1 8b",
        "load": {**LENGTHS, "concurrency": 8},
        "allow": {"spot": True},
        "spot": {"interruptions_per_hour": 0.05, "checkpoint_seconds": 0, "restart_seconds": 300},
    },
    "machines": {
        "model": "llama 3.1 405b",
        "load": {**LENGTHS, "concurrency": 8},
        "nodes": 4,
        "constraints": {"cards": ["a100-sxm-80", "h100-sxm-80"]},
        "allow": {"weights": ["bf16"]},
    },
    "llama.cpp": {
        "model": "llama 3.1 8b",
        "workload": {"kind": "inference", "engine": {"kind": "llama_cpp"}},
        "load": {**LENGTHS, "concurrency": 4},
    },
    "in RAM": {
        "model": "llama 3.1 70b",
        "workload": {"kind": "inference", "engine": {"kind": "llama_cpp"}},
        "load": {**LENGTHS, "concurrency": 1, "min_tokens_per_second_per_user": 0.3},
        "allow": {"offload": True},
        "constraints": {"cards": ["rtx-3090", "rtx-4090"], "max_gpus": 1},
    },
    "own": {
        "model": "llama 3.1 8b",
        "load": {**LENGTHS, "concurrency": 40},
        "offers": [{"sku": "x", "card": "rtx-3090", "count": 2, "usd_per_hour": 0.2, "stock": 3}],
        "offers_mode": "only",
    },
    "lora": {
        "model": "llama 3.1 8b",
        "workload": {"kind": "training", "method": "lora"},
        "job": {"examples": 20_000, "mean_tokens_per_example": 500},
    },
    "side by side": {
        "model": "llama 3.1 70b",
        "workload": {"kind": "training", "method": "full"},
        "job": {"train_tokens": 100_000_000},
        "nodes": 4,
        "constraints": {"cards": ["h100-sxm-80"]},
    },
    "full": {
        "model": "llama 3.1 8b",
        "workload": {"kind": "training", "method": "full"},
        "job": {"train_tokens": 100_000_000},
    },
}


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS.keys())
def test_every_option_can_be_posted_to_cost_as_it_is(body: dict[str, Any]) -> None:
    """No option's request is refused; hours and machines are those of the option, and its price."""
    answer = recommended(**body, limit=8)
    assert answer.options
    for option in answer.options:
        assert option.cost is not None
        asked = msgspec.json.decode(msgspec.json.encode(option.cost_request), type=CostRequest)
        bill = cost(bundled(), asked, Language.EN, DAY).options[0]
        assert bill.instances == option.machines, option.id
        same = pytest.approx(option.cost.total.expected_usd, rel=0.25)
        assert bill.total.expected_usd == same, option.id


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS.keys())
def test_the_plan_measures_four_things_against_predictions(body: dict[str, Any]) -> None:
    """Half an hour of commands, four metrics with what is predicted, and what to send to /cost afterwards."""
    plan = recommended(**body).verification
    assert plan is not None
    assert sum(step.minutes for step in plan.steps) == 30
    assert len(plan.metrics) == 4
    for metric in plan.metrics:
        assert metric.expected is not None
        assert metric.low is not None
        assert metric.high is not None
        assert metric.low <= metric.expected <= metric.high, metric
    assert plan.report is not None
