"""Spot machines, against values worked out with Young's formula on paper."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardmatch.engine.money.spot import (
    Spot,
    break_even_interruptions,
    interval_hours,
    overhead_share,
    young_interval_hours,
)
from tests.engine.money.asking import ask, job, lines, offer, only, option, refused

# An interruption every ten hours, a minute to save, five to come back.
TEN_HOURLY = Spot(interruptions_per_hour=0.1, checkpoint_seconds=60, restart_seconds=300)
AS_ASKED = {"interruptions_per_hour": 0.1, "checkpoint_seconds": 60, "restart_seconds": 300}


def test_young_interval() -> None:
    """√(2 · 1/60 h / 0.1 per h) = 0.577 h, about 35 minutes."""
    assert young_interval_hours(0.1, 1 / 60) == pytest.approx(0.57735, rel=1e-4)
    assert interval_hours(TEN_HOURLY, 1) == pytest.approx(0.57735, rel=1e-4)


def test_overhead_is_saving_losing_and_returning() -> None:
    """0.01667/0.57735 + 0.1 · (0.28868 + 0.08333) = 0.0661."""
    assert overhead_share(TEN_HOURLY, 1) == pytest.approx(0.06607, rel=1e-3)


def test_any_of_several_machines_stops_the_job() -> None:
    """Four machines are interrupted four times as often, so they save twice as often."""
    assert interval_hours(TEN_HOURLY, 4) == pytest.approx(0.57735 / 2, rel=1e-4)


@given(st.floats(0.001, 10), st.floats(10, 3600), st.floats(0, 3600), st.floats(1.05, 5))
def test_at_the_break_even_rate_spot_costs_as_much_as_on_demand(
    price: float, saving: float, restart: float, dearer: float
) -> None:
    """Put back into the overhead, the rate found gives the price ratio."""
    spot = Spot(interruptions_per_hour=1, checkpoint_seconds=saving, restart_seconds=restart)
    rate = break_even_interruptions(spot, 1, price, price * dearer)
    assert rate is not None
    hours = saving / 3600
    overhead = math.sqrt(2 * hours * rate) + rate * restart / 3600
    assert price * (1 + overhead) == pytest.approx(price * dearer, rel=1e-6)


def test_spot_that_is_not_cheaper_has_no_break_even() -> None:
    """A spot price at or above the on-demand price bears no interruption."""
    assert break_even_interruptions(TEN_HOURLY, 1, 2.0, 2.0) is None


def _spot_option(**fields: Any) -> dict[str, Any]:
    price = {"kind": "caller", "usd_per_hour": 3.0, "spot_usd_per_hour": 1.0}
    return option(price=price, rent="spot", spot=AS_ASKED, **fields)


def test_interruptions_are_a_line_of_the_bill() -> None:
    """A hundred hours of work at one dollar cost 6.61 dollars more."""
    bill = lines(only(ask({"options": [_spot_option()], "work": job(100)})))
    assert bill["work"] == pytest.approx(100)
    assert bill["interruptions"] == pytest.approx(6.607, rel=1e-3)


def test_spot_is_compared_with_on_demand() -> None:
    """A third of the price with 6.6 % overhead is cheaper, and stays so up to a rate that is named."""
    spot = only(ask({"options": [_spot_option()], "work": job(100)})).break_even.spot
    assert spot is not None
    assert spot.cheaper
    assert spot.expected_usd == pytest.approx(106.607, rel=1e-3)
    assert spot.expected_interruptions == pytest.approx(10.66, rel=1e-2)
    assert spot.break_even_interruptions_per_hour is not None
    assert spot.break_even_interruptions_per_hour > 10


def test_a_deadline_can_be_missed_or_at_risk() -> None:
    """106.6 hours miss 100 and hold 120, but 107 leave no room for bad luck."""

    def codes(deadline: float) -> list[str]:
        work = job(100, deadline_hours=deadline)
        return [notice.code.value for notice in only(ask({"options": [_spot_option()], "work": work})).notices]

    assert codes(100) == ["deadline_missed"]
    assert codes(107) == ["deadline_at_risk"]
    assert codes(120) == []


def test_thrashing_is_said() -> None:
    """With an interruption every six minutes and five to come back, Young's formula no longer holds."""
    spot = AS_ASKED | {"interruptions_per_hour": 10}
    codes = [
        notice.code.value for notice in only(ask({"options": [_spot_option() | {"spot": spot}], "work": job()})).notices
    ]
    assert codes == ["spot_thrashes"]


def test_an_offer_may_be_interruptible_only() -> None:
    """Rented on demand it is refused; as spot it has a cost and nothing to compare it with."""
    row = offer(usd_per_hour=None, spot_usd_per_hour=8.0)
    price = {"kind": "offer", "offer": row["id"]}
    fault = refused({"options": [option(price=price)], "work": job()}, offers=(row,))
    assert (fault.pointer, fault.code.value) == ("/options/0/rent", "only_spot")
    costed = only(ask({"options": [option(price=price, rent="spot", spot=AS_ASKED)], "work": job()}, offers=(row,)))
    assert lines(costed)["work"] == pytest.approx(8)
    assert costed.break_even.spot is not None
    assert costed.break_even.spot.cheaper is None


def test_spot_needs_a_price_and_figures() -> None:
    """Neither a spot price nor an interruption rate is guessed."""
    priceless = option(rent="spot", spot=AS_ASKED)
    assert refused({"options": [priceless], "work": job()}).pointer == "/options/0/rent"
    rateless = _spot_option() | {"spot": None}
    fault = refused({"options": [rateless], "work": job()})
    assert (fault.pointer, fault.code.value) == ("/options/0/rent", "needs_field")


def test_spot_without_a_price_is_not_compared_in_silence() -> None:
    """Figures of interruptions are of no use where no spot price is known; the answer says so."""
    costed = only(ask({"options": [option()], "work": job(), "spot": AS_ASKED}))
    assert costed.break_even.spot is None
    assert [notice.code.value for notice in costed.notices] == ["spot_not_compared"]
