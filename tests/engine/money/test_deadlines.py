"""Time that counts: waiting that costs something, deadlines, and who is not known to keep them."""

from __future__ import annotations

import pytest

from tests.engine.money.asking import ask, job, lines, only, option


def test_waiting_has_a_value() -> None:
    """Two hours of wall clock at 50 dollars an hour; the invoice does not have them."""
    costed = only(ask({"options": [option(1)], "work": job(2), "time_value_usd_per_hour": 50}))
    assert lines(costed) == pytest.approx({"work": 2, "waiting": 100})
    assert (costed.total.expected_usd, costed.invoice_usd) == (102, 2)


def test_forty_weeks_of_lead_time_are_waited_for() -> None:
    """A bought H100 comes after 40 weeks of 168 hours: at ten cents an hour 672 dollars, and 0.1 for the run."""
    bought = option(price={"kind": "purchase", "utilisation": 0.5}, card="h100-sxm-80", count=8)
    costed = only(ask({"options": [bought], "work": job(), "time_value_usd_per_hour": 0.1}))
    assert lines(costed)["waiting"] == pytest.approx(672.1)
    assert "lead_time" in [notice.code.value for notice in costed.notices]


def test_the_cheapest_may_end_too_late() -> None:
    """Ten hours for ten dollars miss a deadline of six that five hours for fifteen keep."""
    slow, fast = option(1, 1, label="slow"), option(3, 2, label="fast")
    figures = ask({"options": [slow, fast], "work": job(10, deadline_hours=6)})
    assert figures.rank_by_cost[0] == "slow"
    late = next(notice for notice in figures.notices if notice.code.value == "cheapest_too_late")
    assert late.params == {"label": "slow", "other": "fast"}
    none = ask({"options": [slow], "work": job(10, deadline_hours=6)})
    assert [notice.code.value for notice in none.notices] == ["none_in_time"]
    assert ask({"options": [slow, fast], "work": job(10, deadline_hours=11)}).notices == ()


def test_nobody_knows_how_long_an_api_takes() -> None:
    """Where waiting has a value or a deadline, an API's column has neither, and says so; it is not called in time."""
    api = {
        "label": "api",
        "price": {"kind": "token_api", "usd_per_million_input": 0.2, "usd_per_million_output": 0.6},
    }
    work = {"kind": "job", "unit": "token", "units": 1e9, "prompt_tokens": 1000, "output_tokens": 300}
    own = option(0.1, 1000, label="own")
    waiting = ask({"options": [own, api], "work": work, "time_value_usd_per_hour": 50})
    pressed = ask({"options": [own, api], "work": work | {"deadline_hours": 100}})
    for figures in (waiting, pressed):
        assert [notice.code.value for notice in figures.options[1].notices] == ["api_time_unknown"]
    assert "none_in_time" in [notice.code.value for notice in pressed.notices]
    assert ask({"options": [own, api], "work": work}).options[1].notices == ()


def test_a_machine_that_has_yet_to_arrive_misses_deadlines() -> None:
    """Forty weeks are 6,720 hours; a machine that is there already works at once."""
    for price, codes in (({}, {"deadline_missed"}), ({"lead_time_weeks": 0}, set())):
        bought = option(price={"kind": "purchase", "utilisation": 0.5} | price, card="h100-sxm-80", count=8)
        notices = only(ask({"options": [bought], "work": job(1, deadline_hours=100)})).notices
        assert {notice.code.value for notice in notices} - {"lead_time"} == codes
