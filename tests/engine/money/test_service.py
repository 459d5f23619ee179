"""Services by the month: utilisation, idle hours, replicas, scaling to zero."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.money.work import WORK
from tests.engine.money.asking import ask, job, lines, only, option, refused


def _service(**fields: Any) -> dict[str, Any]:
    return {"kind": "service", "unit": "output_token"} | fields


def test_dollars_per_million_tokens_follow_utilisation() -> None:
    """2.69 dollars an hour over 2,500 tokens/s at 50 %: 2.69e6 / (3600 · 2500 · 0.5) = 0.598."""
    costed = only(ask({"options": [option(2.69, 2500)], "work": _service(utilisation=0.5)}))
    assert costed.usd_per_million_tokens == pytest.approx(0.5978, abs=1e-4)
    assert costed.usd_per_month == pytest.approx(2.69 * 730)
    assert lines(costed) == pytest.approx({"work": 2.69 * 365, "idle": 2.69 * 365})


def test_a_provider_has_its_own_month() -> None:
    """Cloudzy caps a month at 720 hours."""
    charges = {"hours_per_month": 720}
    assert only(ask({"options": [option(1, charges=charges)], "work": _service(utilisation=0.5)})).usd_per_month == 720


def test_load_beyond_one_machine_takes_more() -> None:
    """A million seconds of work in a month of 2,628,000 is 38 %; five million take two machines at 95 %."""
    light = only(ask({"options": [option()], "work": _service(units_per_month=1e6)}))
    heavy = only(ask({"options": [option()], "work": _service(units_per_month=5e6)}))
    assert (light.replicas, heavy.replicas) == (1, 2)
    assert light.utilisation == pytest.approx(1e6 / 2_628_000)
    assert heavy.usd_per_month == pytest.approx(2 * 730)
    assert [notice.code.value for notice in heavy.notices] == ["replicas_needed", "service_near_capacity"]


def test_scaled_to_zero_only_starts_and_work_are_paid() -> None:
    """36,000 units are ten hours; thirty starts of six minutes are three."""
    startup = {"load_seconds": 360}
    work = _service(units_per_month=36_000, keep_warm=False)
    figures = ask({"options": [option(startup=startup)], "work": work})
    assert lines(only(figures)) == pytest.approx({"work": 10, "startup": 3})
    assert f"{WORK}/starts_per_month" in [assumption.pointer for assumption in figures.assumptions]


def test_idle_hours_may_have_their_own_price() -> None:
    """A serverless provider that keeps a worker warm at a fifth of the price."""
    charges = {"billing_increment_seconds": 1, "keep_warm_usd_per_hour": 0.2}
    costed = only(ask({"options": [option(1, charges=charges)], "work": _service(utilisation=0.5)}))
    assert lines(costed) == pytest.approx({"work": 365, "idle": 73})


def test_office_hours_are_a_part_of_the_month() -> None:
    """200 hours a month; the data is kept all month."""
    charges = {"billing_increment_seconds": 1, "storage_usd_per_gb_month": 0.1}
    work = _service(utilisation=0.5, hours=200)
    bill = lines(only(ask({"options": [option(1, charges=charges)], "work": work, "data": {"stored_gb": 100}})))
    assert bill["work"] + bill["idle"] == pytest.approx(200)
    assert bill["storage"] + bill["storage_stopped"] == pytest.approx(10)


def test_what_is_owned_is_paid_all_month() -> None:
    """Serving 200 hours on a bought machine pays for 730."""
    bought = option(price={"kind": "purchase"}, card="h100-sxm-80", count=8)
    costed = only(ask({"options": [bought], "work": _service(utilisation=0.5, hours=200)}))
    assert costed.usd_per_month == pytest.approx(730 * 8 * 1.5365, rel=1e-3)


def _interruptible() -> dict[str, Any]:
    spot = {"interruptions_per_hour": 0.1, "checkpoint_seconds": 0, "restart_seconds": 360}
    price = {"kind": "caller", "usd_per_hour": 2, "spot_usd_per_hour": 1}
    return option(price=price, rent="spot", spot=spot)


def test_interruptions_of_a_service_cost_their_restarts() -> None:
    """One interruption in ten hours with six minutes to return: of 101 hours one serves nobody, and all are billed."""
    costed = only(ask({"options": [_interruptible()], "work": _service(utilisation=0.5)}))
    assert lines(costed) == pytest.approx({"work": 365, "idle": 365 - 730 / 101, "interruptions": 730 / 101})
    assert costed.hours is not None
    assert costed.hours.billed_hours == pytest.approx(730)


def test_what_interruptions_leave_of_a_machine_may_not_be_enough() -> None:
    """99.5 % of a machine's month is more than the 99 % that is left of it: it takes two."""
    costed = only(ask({"options": [_interruptible()], "work": _service(units_per_month=0.995 * 2_628_000)}))
    assert costed.replicas == 2
    assert costed.usd_per_month == pytest.approx(1460)


def test_scaled_to_zero_restarts_come_on_top() -> None:
    """Of 36,000 units, ten hours, one hundredth is done again."""
    work = _service(units_per_month=36_000, keep_warm=False)
    assert lines(only(ask({"options": [_interruptible()], "work": work})))["interruptions"] == pytest.approx(0.1)


def test_the_hours_of_a_month_are_echoed() -> None:
    """All 730 where nothing is said."""
    for hours, said in ((None, 730), (200, None)):
        figures = ask({"options": [option()], "work": _service(utilisation=0.5, hours=hours)})
        assert {each.pointer: each.value for each in figures.assumptions}.get(f"{WORK}/hours") == said


def test_a_month_of_31_days_has_744_hours() -> None:
    """All are paid where nobody says how a month is billed; a provider that caps it at 720 bills no more."""
    work = _service(utilisation=0.5, hours=744)
    assert only(ask({"options": [option(1)], "work": work})).usd_per_month == pytest.approx(744)
    capped = option(1, charges={"hours_per_month": 720})
    assert only(ask({"options": [capped], "work": work})).usd_per_month == pytest.approx(720)


@pytest.mark.parametrize("load", [{}, {"utilisation": 0.5, "units_per_month": 10}])
def test_a_service_says_how_busy_it_is_once(load: dict[str, float]) -> None:
    """Utilisation is never assumed, least of all to be full."""
    fault = refused({"options": [option()], "work": _service(**load)})
    assert (fault.pointer, fault.code.value) == ("/work", "exactly_one_of")


@pytest.mark.parametrize("field", [{"runs": 2}, {"failed_share": 0.1}])
def test_runs_are_for_jobs(field: dict[str, float]) -> None:
    """A service has no runs that could fail."""
    fault = refused({"options": [option()], "work": _service(utilisation=1)} | field)
    assert (fault.pointer, fault.code.value) == (f"/{next(iter(field))}", "only_for_jobs")


def test_a_job_is_no_service() -> None:
    """A job has a cost per run and none per month."""
    costed = only(ask({"options": [option()], "work": job()}))
    assert (costed.usd_per_run, costed.usd_per_month) == (1, None)


def test_a_set_up_fee_is_paid_once() -> None:
    """999 dollars with the first month, which is the one that is shown."""
    charges = {"billing_increment_seconds": 2_628_000, "setup_usd": 999}
    costed = only(ask({"options": [option(1, charges=charges)], "work": _service(utilisation=0.5)}))
    assert costed.usd_per_month == pytest.approx(730 + 999)
    assert [(notice.code.value, notice.params) for notice in costed.notices] == [
        ("setup_paid_once", {"setup_usd": 999.0})
    ]


def test_what_a_month_leaves_of_a_balance_is_not_lost() -> None:
    """Ten hours of one dollar where 25 are paid in leave 15 for the next month; a job would leave them behind."""
    charges = {"billing_increment_seconds": 1, "prepaid": True, "min_top_up_usd": 25}
    work = _service(units_per_month=36_000, keep_warm=False, starts_per_month=1)
    costed = only(ask({"options": [option(1, charges=charges)], "work": work}))
    assert lines(costed) == pytest.approx({"work": 10})
    assert costed.prepaid is not None
    assert (costed.prepaid.top_up_usd, costed.prepaid.stranded_usd) == (25, 0)
