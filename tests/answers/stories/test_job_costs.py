"""What a card that was not chosen would cost for a job: in the job's own unit, and never more than it does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.answers.stories.asking import recommended

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
JOBS: dict[str, dict[str, Any]] = {
    "adapter": {
        "model": "13B",
        "workload": {"kind": "training", "method": "qlora"},
        "job": {"examples": 50_000, "mean_tokens_per_example": 512, "epochs": 3, "deadline_hours": 48},
        "constraints": {"max_usd_total": 100, "server_countries": ["eu"]},
    },
    "batch": {"model": "llama 3.1 8b", "load": LENGTHS, "job": {"items": 100_000}},
    "soon": {"model": "llama 3.1 8b", "load": LENGTHS, "job": {"items": 100_000, "deadline_hours": 5}, "limit": 2},
    "pictures": {"model": "sdxl", "job": {"images": 50_000, "deadline_hours": 8}},
}


@pytest.mark.slow
@pytest.mark.parametrize("body", JOBS.values(), ids=JOBS.keys())
def test_no_card_finishes_the_job_for_less_than_it_is_said_to_cost(body: dict[str, Any]) -> None:
    """Asked for by itself, each card that was left out because of its price costs at least what was said of it."""
    answer = recommended(**body)
    first = answer.options[0].cost
    assert first is not None
    rows = [row for row in answer.not_chosen if row.reason.code == "card_job_costs_more"]
    assert rows
    for row in rows:
        said = float(str(row.reason.params["least_usd"]))
        share = 1 + float(str(row.reason.params["more_percent"])) / 100
        assert share == pytest.approx(said / first.total.expected_usd, rel=0.01), row.card
        only = body.get("constraints", {}) | {"cards": [row.card]}
        for option in recommended(**body | {"constraints": only, "objective": "cost_per_unit"}).options:
            assert option.cost is not None
            assert option.cost.total.expected_usd >= said - 0.01, row.card


@pytest.mark.parametrize("body", JOBS.values(), ids=JOBS.keys())
def test_a_job_is_compared_by_no_month(body: dict[str, Any]) -> None:
    """A month of rent says nothing of a job of eight hours."""
    assert "card_costs_more" not in {row.reason.code.value for row in recommended(**body).not_chosen}
