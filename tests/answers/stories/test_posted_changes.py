"""Whatever is asked, the changes of a card that is left out can be posted as they stand."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.answers.stories.asking import recommended
from tests.answers.stories.test_coming_back import with_settings

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
LOADS = st.sampled_from(
    [
        {**LENGTHS, "concurrency": 1},
        {**LENGTHS, "concurrency": 64, "min_tokens_per_second_per_user": 40},
        {"prompt_tokens": 8000, "output_tokens": 500, "concurrency": 8},
        {**LENGTHS, "requests_per_second": 5},
        {**LENGTHS, "requests_per_second": 2, "p95_latency_seconds": 15},
        {**LENGTHS, "requests_per_day": 1e6, "ttft_seconds": 1},
    ]
)
CONSTRAINTS = st.fixed_dictionaries(
    {},
    optional={
        "max_gpus": st.sampled_from([1, 2]),
        "max_instances": st.just(1),
        "max_usd_per_month": st.sampled_from([200, 2000]),
        "ecc": st.just(True),
        "isolation": st.sampled_from(["mig", "dedicated"]),
        "server_countries": st.sampled_from([["eu"], ["DE", "FI"]]),
        "exclude_company_countries": st.just(["five_eyes"]),
        "identity_check": st.just("none"),
        "cards": st.sampled_from([["H100"], ["rtx-4090", "l40s"]]),
        "exclude_cards": st.just(["rtx-4090"]),
        "unmetered_bandwidth": st.just(True),
        "max_price_age_days": st.just(90),
    },
)
ALLOW = st.fixed_dictionaries(
    {}, optional={"multi_gpu": st.just(False), "weights": st.sampled_from([["bf16"], ["awq_int4"]])}
)
OWN = [
    {"sku": "home", "card": "rtx-3090", "count": 2, "usd_per_hour": 0.12, "stock": 1},
    {"sku": "rack", "card": "h100-sxm-80", "count": 8, "usd_per_hour": 12.0, "stock": 2},
]
COMMON: dict[str, st.SearchStrategy[Any]] = {
    "constraints": CONSTRAINTS,
    "offers": st.sampled_from([OWN, OWN[:1]]),
    "offers_mode": st.sampled_from(["only", "merge"]),
    "limit": st.sampled_from([1, 5, 50]),
}
SERVING = st.fixed_dictionaries(
    {"model": st.sampled_from(["7B", "llama 3.1 8b", "qwen3 32b", "llama 3.1 70b"])},
    optional={
        **COMMON,
        "load": LOADS,
        "allow": ALLOW,
        "objective": st.sampled_from(["latency", "throughput", "cost_per_hour"]),
        "instances": st.sampled_from([2, 6]),
    },
)
JOBS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["7B", "qwen3 32b"]),
        "load": st.just(LENGTHS),
        "job": st.sampled_from([{"items": 100_000}, {"items": 1_000_000, "deadline_hours": 4}]),
    },
    optional={**COMMON, "allow": ALLOW},
)
RUNS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["7B", "13B"]),
        "workload": st.sampled_from([{"kind": "training", "method": method} for method in ("qlora", "full")]),
        "job": st.sampled_from([{"train_tokens": 1e8}, {"train_tokens": 1e9, "deadline_hours": 5}]),
    },
    optional=COMMON,
)


@given(body=st.one_of(SERVING, JOBS, RUNS), picked=st.lists(st.integers(0, 999), min_size=3, max_size=3))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_changes_of_any_request_are_a_request_in_which_the_card_is_an_option(
    body: dict[str, Any], picked: list[int]
) -> None:
    """Each set at its pointer, parents made where there are none; no pointer is named twice."""
    rows = [row for row in recommended(**body).not_chosen if row.changes]
    for row in [rows[index % len(rows)] for index in picked] if rows else ():
        pointers = [each.pointer for each in row.changes]
        assert len(set(pointers)) == len(pointers)
        again = recommended(**with_settings(body, row))
        assert row.card in {option.card for option in again.options}, (row.card, row.reason.code, row.changes)
