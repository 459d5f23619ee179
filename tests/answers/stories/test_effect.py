"""No figure contradicts the load, no field is passed over, and no price is taken for one of an earlier day."""

from __future__ import annotations

from typing import Any

import pytest

from tests.answers.stories.asking import recommended, refused

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}


@pytest.mark.parametrize("rate", [0.5, 4, 5, 60])
def test_what_a_load_by_rate_makes_is_what_comes(rate: float) -> None:
    """4 requests a second of 300 tokens are 1,200 tokens a second, and by Little's law rate × time are in flight."""
    answer = recommended(model="llama 3.1 8b", load={**LENGTHS, "requests_per_second": rate})
    for option in answer.options:
        speed = option.speed
        assert speed is not None
        assert speed.request_seconds is not None
        assert speed.expected_units_per_second == speed.high_units_per_second == rate
        assert 0 < speed.low_units_per_second <= rate
        if speed.requests_at_once and speed.requests_at_once > option.copies:
            assert speed.requests_at_once == pytest.approx(rate * speed.request_seconds, rel=0.01)
    plan = answer.verification
    assert plan is not None
    tokens = next(each for each in plan.metrics if each.metric == "output_tokens_per_second")
    assert tokens.expected == pytest.approx(rate * 300)


def test_texts_at_a_rate_are_counted_as_they_come() -> None:
    """200 texts a second are 200, however many more the card could do."""
    for option in recommended(model="bge-m3", load={"prompt_tokens": 500, "items_per_second": 200}).options:
        assert option.speed is not None
        assert option.speed.expected_units_per_second == 200
        assert option.speed.capacity_units_per_second >= 200


SPOT = {"interruptions_per_hour": 0.05, "checkpoint_seconds": 0, "restart_seconds": 300}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [({"constraints": {"max_usd_total": 5}}, "/constraints/max_usd_total"), ({"spot": SPOT}, "/spot")],
)
def test_a_field_without_effect_is_refused(fields: dict[str, Any], pointer: str) -> None:
    """The total of what never ends, and interruptions of machines that are not to be rented."""
    load = {**LENGTHS, "concurrency": 1}
    assert refused(model="7B", load=load, **fields) == [pointer]
    assert recommended(model="7B", load=LENGTHS, job={"items": 1000}, constraints={"max_usd_total": 500}).options
    assert recommended(model="7B", load=load, spot=SPOT, allow={"spot": True}).options


def test_prices_read_after_the_day_say_so() -> None:
    """What was read in 2026 is no price of 2020."""
    load = {**LENGTHS, "concurrency": 1}
    for option in recommended(model="7B", load=load, priced_on="2020-01-01").options:
        assert option.cost is not None
        assert "price_read_later" in {each.code.value for each in option.cost.notices}
    for option in recommended(model="7B", load=load).options:
        assert option.cost is not None
        assert "price_read_later" not in {each.code.value for each in option.cost.notices}


def test_a_spot_price_beside_a_price_on_request_is_answered_with() -> None:
    """CoreWeave publishes only what an interruptible HGX B300 costs; the summary needs no sentence about that kind."""
    only = {"cards": ["b300"], "providers": ["coreweave"]}
    load = {**LENGTHS, "concurrency": 1}
    answer = recommended(model="7B", load=load, allow={"spot": True}, constraints=only)
    assert {option.offer.price_kind.value for option in answer.options} == {"contact"}
    assert answer.summary
