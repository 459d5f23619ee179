"""What a recommendation hands out to post to /cost is answered there as it is, and says the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import Invalid
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
    "two each": {
        "model": "qwen3 32b",
        "load": {"prompt_tokens": 1000, "output_tokens": 1000, "requests_per_second": 3},
    },
    "wide": {"model": "7B", "load": {**LENGTHS, "concurrency": 1}, "constraints": {"cards": ["h100-sxm-80", "gb200"]}},
    "own slices": {
        "model": "7B",
        "load": {**LENGTHS, "concurrency": 2},
        "offers": [{"sku": "s", "card": "a100-sxm-80", "mig_profile": "3g.40gb", "usd_per_hour": 0.5}],
        "offers_mode": "only",
        "allow": {"weights": ["awq_int4"]},
        "constraints": {"isolation": "mig"},
    },
    "uneven": {"model": "13B", "load": {**LENGTHS, "concurrency": 10}, "instances": 3},
    "texts": {"model": "bge-m3", "load": {"prompt_tokens": 500, "items_per_second": 200}},
    "pictures": {"model": "sdxl", "job": {"images": 50_000, "deadline_hours": 8}},
}


def assert_billed_alike(body: dict[str, Any], limit: int) -> int:
    """Posted as it is, each option's question gets its rate, its machines and its bill."""
    options = [each for each in recommended(**body, limit=limit).options if each.cost_request is not None]
    for option in options:
        assert option.cost is not None
        asked = msgspec.json.decode(msgspec.json.encode(option.cost_request), type=CostRequest)
        bill = cost(bundled(), asked, Language.EN, DAY).options[0]
        assert bill.instances == option.cost.instances == option.machines, option.id
        rate, said = bill.rate, option.cost.rate
        assert rate is not None
        assert said is not None
        expected = pytest.approx(said.throughput.expected_units_per_second, rel=1e-9)
        assert rate.throughput.expected_units_per_second == expected, option.id
        assert bill.total.expected_usd == pytest.approx(option.cost.total.expected_usd, rel=1e-6), option.id
    return len(options)


@pytest.mark.parametrize("body", REQUESTS.values(), ids=REQUESTS.keys())
def test_every_option_can_be_posted_to_cost_as_it_is(body: dict[str, Any]) -> None:
    """No option's request is refused, and hours, machines, rate and price are those of the option."""
    assert assert_billed_alike(body, 8)


LOADS = st.one_of(
    st.builds(lambda many: {"concurrency": many}, st.sampled_from([1, 3, 37, 500])),
    st.builds(lambda rate: {"requests_per_second": rate}, st.sampled_from([0.3, 4, 50])),
    st.builds(lambda rate: {"requests_per_day": rate}, st.sampled_from([1e3, 1e5, 3e6])),
)
TARGETS = st.fixed_dictionaries(
    {}, optional={"ttft_seconds": st.sampled_from([0.3, 2]), "p95_latency_seconds": st.sampled_from([10, 60])}
)
SIZES = st.builds(
    lambda prompt, output: {"prompt_tokens": prompt, "output_tokens": output},
    st.sampled_from([100, 1000, 6000]),
    st.sampled_from([50, 300, 1000]),
)
DRAWN = st.builds(
    lambda fixed, sizes, load, targets, job: (
        fixed | ({"load": sizes, "job": job} if job else {"load": sizes | load | targets})
    ),
    st.fixed_dictionaries(
        {"model": st.sampled_from(["7B", "llama 3.1 8b", "qwen3 32b", "llama 3.1 70b", "qwen3 30b a3b"])},
        optional={
            "instances": st.sampled_from([2, 6]),
            "nodes": st.just(3),
            "objective": st.sampled_from(["latency", "throughput", "cost_per_unit"]),
            "constraints": st.just({"isolation": "mig"}),
            "allow": st.just({"spot": True}),
            "workload": st.sampled_from(["sglang", "llama_cpp", "tensorrt_llm"]).map(
                lambda engine: {"kind": "inference", "engine": {"kind": engine}}
            ),
        },
    ),
    SIZES,
    LOADS,
    TARGETS,
    st.none() | st.builds(lambda items: {"items": items, "deadline_hours": 200}, st.sampled_from([1000, 10**6])),
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(DRAWN)
def test_whatever_is_asked_for_is_billed_alike(body: dict[str, Any]) -> None:
    """Slices, splits over cards and machines, jobs, random arrivals with targets, every engine."""
    assert_billed_alike(body, 6)


def test_a_layout_that_the_option_cannot_hold_is_refused() -> None:
    """More copies than GPUs, a slice that the card has not, and stages that do not divide over machines."""
    for copies, pointer in (
        ({"copies": 3}, "/copies/copies"),
        ({"mig": "9g.900gb"}, "/copies/mig"),
        ({"nodes": 2}, "/copies/nodes"),
        ({"tensor": 3}, "/copies/copies"),
    ):
        asked = {
            "options": [
                {
                    "label": "a",
                    "card": "a100-sxm-80",
                    "count": 2,
                    "price": {"kind": "caller", "usd_per_hour": 1},
                    "throughput": {"kind": "predicted", "model": "llama 3.1 8b", "copies": copies},
                }
            ],
            "work": {"kind": "job", "unit": "request", "units": 10, **LENGTHS},
        }
        with pytest.raises(Invalid) as caught:
            cost(bundled(), msgspec.convert(asked, CostRequest), Language.EN, DAY)
        assert [fault.pointer for fault in caught.value.faults] == [f"/options/0/throughput{pointer}"]


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
