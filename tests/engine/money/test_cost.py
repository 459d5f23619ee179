"""What finished work costs, against bills worked out on paper."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.money.work import WORK
from tests.engine.money.asking import ask, job, lines, offer, only, option, refused


def _total(body: dict[str, Any], **market: Any) -> float:
    return only(ask(body, **market)).total.expected_usd


def test_ten_minutes_on_hourly_billing_cost_six_times() -> None:
    """A ten-minute job at six dollars an hour: one dollar by the second, six by the hour."""
    by_second = {"options": [option(6)], "work": job(1 / 6)}
    by_hour = {"options": [option(6, charges={"billing_increment_seconds": 3600})], "work": job(1 / 6)}
    assert _total(by_second) == pytest.approx(1)
    assert _total(by_hour) == pytest.approx(6)
    assert lines(only(ask(by_hour)))["billing_rounding"] == pytest.approx(5)


def test_exactly_one_increment_is_one_increment() -> None:
    """A run of one hour is billed as one hour, not two, and a month as a month."""
    for seconds, hours in ((3600, 1), (2_628_000, 730)):
        body = {"options": [option(1, charges={"billing_increment_seconds": seconds})], "work": job(hours)}
        assert _total(body) == pytest.approx(hours)


def test_twice_the_price_three_times_as_fast_is_cheaper() -> None:
    """Ranks by the hour and by the work differ, and the answer says so."""
    slow, fast = option(1, 1, label="slow"), option(2, 3, label="fast")
    figures = ask({"options": [slow, fast], "work": job(3)})
    assert figures.rank_by_hourly_rate == ("slow", "fast")
    assert figures.rank_by_cost == ("fast", "slow")
    assert [option.total.expected_usd for option in figures.options] == pytest.approx([3, 2])
    assert [notice.code.value for notice in figures.notices] == ["ranks_differ"]


def test_an_instance_is_rented_whole() -> None:
    """Five of eight GPUs at 32 dollars: 20 dollars of work, 12 of GPUs that stand idle."""
    body = {"options": [option(price=_offer(), count=5, charges={})], "work": job()}
    costed = only(ask(body, offers=(offer(),)))
    assert lines(costed) == pytest.approx({"work": 20, "unused_gpus": 12})
    assert (costed.instances, costed.unused_gpus, costed.count) == (1, 3, 5)
    assert [notice.code.value for notice in costed.notices] == ["unused_gpus"]


def test_more_gpus_than_an_instance_has_take_several() -> None:
    """Nine GPUs are two machines of eight, 64 dollars an hour."""
    costed = only(ask({"options": [option(price=_offer(), count=9, charges={})], "work": job()}, offers=(offer(),)))
    assert (costed.instances, costed.unused_gpus, costed.total.expected_usd) == (2, 7, 64)


def test_starting_pulling_and_loading_are_billed() -> None:
    """A minute of boot, 45 GB at 0.125 GB/s and nine minutes of loading are a quarter of an hour and a bit."""
    startup = {"boot_seconds": 60, "pull_gb": 45, "load_seconds": 480}
    figures = ask({"options": [option(10, startup=startup)], "work": job()})
    assert lines(only(figures))["startup"] == pytest.approx(10 * (60 + 360 + 480) / 3600)
    assumed = {assumption.pointer: assumption.value for assumption in figures.assumptions}
    assert assumed["/options/0/startup/network_gb_s"] == 0.125


def test_failed_runs_are_paid() -> None:
    """Nine good runs of one hour with one in ten failing are ten starts; each good one costs 10/9."""
    body = {"options": [option(1)], "work": job(), "runs": 9, "failed_share": 0.1}
    costed = only(ask(body))
    assert lines(costed) == pytest.approx({"work": 9, "failed_runs": 1})
    assert costed.usd_per_run == pytest.approx(10 / 9)


def test_idle_time_is_paid() -> None:
    """Work at 50 % utilisation takes twice its hours; a night of eight hours beside it costs eight."""
    costed = only(ask({"options": [option(1)], "work": job(3, utilisation=0.5, idle_hours=8)}))
    assert lines(costed) == pytest.approx({"work": 3, "idle": 11})


def test_storage_runs_on_while_the_machine_is_off() -> None:
    """200 GB at 7 cents a month: ten hours running, 720 stopped."""
    charges = {"billing_increment_seconds": 1, "storage_usd_per_gb_month": 0.07}
    body = {"options": [option(charges=charges)], "work": job(10), "data": {"stored_gb": 200, "stopped_hours": 720}}
    bill = lines(only(ask(body)))
    assert bill["storage"] == pytest.approx(14 * 10 / 730, abs=1e-6)
    assert bill["storage_stopped"] == pytest.approx(14 * 720 / 730, abs=1e-6)


def test_storage_without_a_price_is_said_and_asked_for() -> None:
    """Nobody stores for nothing: 730 GB for the hour of the run are a dollar-month, at ten cents the dearest read."""
    figures = ask({"options": [option()], "work": job(), "data": {"stored_gb": 730}})
    costed = only(figures)
    assert [notice.code.value for notice in costed.notices] == ["storage_price_unknown"]
    assert costed.total.expected_usd == pytest.approx(1)
    assert costed.total.high_usd == pytest.approx(1.1)
    assert costed.total.basis.value == "extrapolated"
    assert figures.ask_next is not None
    assert figures.ask_next.pointer == "/options/0/charges/storage_usd_per_gb_month"


def test_setup_address_and_tax() -> None:
    """Ten hours at a dollar, an address at half a cent, 100 of set-up, and 20 % of all of it."""
    charges = {
        "billing_increment_seconds": 1,
        "setup_usd": 100,
        "public_ip_usd_per_hour": 0.005,
        "tax_share": 0.2,
    }
    bill = lines(only(ask({"options": [option(charges=charges)], "work": job(10)})))
    assert bill == pytest.approx({"work": 10, "setup": 100, "public_ip": 0.05, "tax": 22.01})


def test_a_prepaid_balance_strands_what_the_run_does_not_use() -> None:
    """A run of four dollars where 25 must be paid in leaves 21; ten seconds of margin keep it from being stopped."""
    body = {"options": [option(price=_offer(), charges={})], "work": job(0.125)}
    costed = only(ask(body, offers=(offer(),), provider={"billing": "prepaid", "min_top_up_usd": 25}))
    assert lines(costed) == pytest.approx({"work": 4, "stranded_balance": 21})
    assert costed.prepaid is not None
    assert costed.prepaid.stranded_usd == pytest.approx(21)
    assert costed.prepaid.margin_usd == pytest.approx(32 * 10 / 3600, abs=1e-6)


def test_a_balance_must_outlast_the_run() -> None:
    """Beyond the minimum, what to pay in is the bill and the margin."""
    charges = {"billing_increment_seconds": 1, "prepaid": True, "auto_stop_seconds": 36}
    costed = only(ask({"options": [option(1, charges=charges)], "work": job(100)}))
    assert costed.prepaid is not None
    assert costed.prepaid.top_up_usd == pytest.approx(100.01)


def test_a_bought_machine_costs_its_hour_over_its_utilisation() -> None:
    """Eight GPUs at 1.54 dollars, used half of the time: 24.6 dollars for an hour of work."""
    bought = option(price={"kind": "purchase", "utilisation": 0.5}, card="h100-sxm-80", count=8)
    costed = only(ask({"options": [bought], "work": job()}))
    assert costed.total.expected_usd == pytest.approx(8 * 1.5365 / 0.5, rel=1e-3)
    assert costed.total.low_usd < costed.total.expected_usd < costed.total.high_usd


def test_what_is_bought_is_not_rented() -> None:
    """A bought machine has neither a spot price nor a term."""
    bought = option(price={"kind": "purchase"}, card="h100-sxm-80", rent="reserved", reserved={"usd_per_hour": 1})
    fault = refused({"options": [bought], "work": job()})
    assert (fault.pointer, fault.code.value) == ("/options/0/rent", "conflicts_with")


def test_an_owner_who_names_no_utilisation_is_told() -> None:
    """A machine that always has work is the best case."""
    bought = option(price={"kind": "purchase"}, card="h100-sxm-80", count=8)
    figures = ask({"options": [bought], "work": job()})
    assert "owned_and_always_busy" in [notice.code.value for notice in only(figures).notices]
    assert "/options/0/price/utilisation" in [assumption.pointer for assumption in figures.assumptions]


@pytest.mark.parametrize(("reserved", "on_demand", "percent"), [(1.75, 2.50, 70), (0.95, 1.35, 70), (5.10, 6.00, 85)])
def test_a_commitment_pays_above_price_over_price(reserved: float, on_demand: float, percent: int) -> None:
    """Hyperstack's H100, A100 and B200."""
    committed = option(on_demand, rent="reserved", reserved={"usd_per_hour": reserved})
    figures = only(ask({"options": [committed], "work": job(100)})).break_even.reserved
    assert figures is not None
    assert round(100 * figures.utilisation) == percent
    assert figures.expected_utilisation == pytest.approx(100 / 730)
    assert not figures.pays


def test_every_hour_of_a_commitment_is_paid() -> None:
    """A hundred hours of a month at 1.75: 175 of work, 1,102.50 for the other 630 hours."""
    committed = option(2.5, rent="reserved", reserved={"usd_per_hour": 1.75})
    costed = only(ask({"options": [committed], "work": job(100)}))
    assert lines(costed) == pytest.approx({"work": 175, "commitment": 1102.5})


def test_tokens_can_be_bought_instead() -> None:
    """A billion tokens in requests of 1,000 and 300 are 769,231 requests of 0.038 cents: 292 dollars."""
    api = {
        "label": "api",
        "price": {"kind": "token_api", "usd_per_million_input": 0.2, "usd_per_million_output": 0.6},
    }
    own = option(0.69, 1000, label="own")
    work = {"kind": "job", "unit": "token", "units": 1e9, "prompt_tokens": 1000, "output_tokens": 300}
    figures = ask({"options": [own, api], "work": work})
    rented, bought = figures.options
    assert lines(bought) == pytest.approx({"api_input": 153.846154, "api_output": 138.461538})
    assert rented.total.expected_usd == pytest.approx(191.666667)
    assert rented.usd_per_million_tokens == pytest.approx(0.191667, rel=1e-4)
    assert figures.rank_by_hourly_rate == ("own",)
    (against,) = rented.break_even.token_api
    assert against.utilisation == pytest.approx(191.666667 / 292.307692)
    assert against.cheaper_at_full_use
    assert against.units_per_month == pytest.approx(0.69 * 730 / (292.307692 / 1e9))


@pytest.mark.parametrize(
    ("work", "pointer", "code"),
    [
        ({"kind": "job", "unit": "token", "units": 1e6}, "/work", "request_lengths_missing"),
        (
            {"kind": "job", "unit": "image", "units": 10, "prompt_tokens": 1, "output_tokens": 1},
            f"{WORK}/unit",
            "unit_not_sold",
        ),
        (
            {"kind": "service", "unit": "token", "utilisation": 0.5, "prompt_tokens": 1, "output_tokens": 1},
            "/work",
            "load_of_service_missing",
        ),
    ],
)
def test_a_token_api_must_know_its_requests(work: dict[str, Any], pointer: str, code: str) -> None:
    """It sells tokens of requests of known lengths, and of a known number."""
    api = {"label": "a", "price": {"kind": "token_api", "usd_per_million_input": 1, "usd_per_million_output": 1}}
    fault = refused({"options": [api], "work": work})
    assert (fault.pointer, fault.code.value) == (pointer, code)


def test_labels_are_told_apart() -> None:
    """The second of two equal labels is the one at fault."""
    fault = refused({"options": [option(), option()], "work": job()})
    assert (fault.pointer, fault.code.value) == ("/options/1/label", "label_twice")


def test_a_close_race_is_called_one() -> None:
    """An old price that may be cheaper than the winner leaves the first place open."""
    sure = option(30, label="sure")
    old = option(price=_offer(), charges={}, label="old")
    figures = ask({"options": [sure, old], "work": job()}, offers=(offer(as_of="2026-06-01"),))
    assert figures.rank_by_cost == ("sure", "old")
    assert [notice.code.value for notice in figures.notices] == ["rank_not_certain"]


def test_what_billing_by_the_hour_would_add_is_asked_for() -> None:
    """Six minutes at a provider of unknown rounding may cost ten times as much; that is the next question."""
    figures = ask({"options": [option(10, charges={})], "work": job(0.1)})
    assert only(figures).total.high_usd == pytest.approx(10)
    assert figures.ask_next is not None
    assert figures.ask_next.pointer == "/options/0/charges/billing_increment_seconds"


def _offer() -> dict[str, Any]:
    return {"kind": "offer", "offer": "acme/box/any/standard"}


def test_a_job_that_outlasts_its_commitment_commits_again() -> None:
    """800 hours take two months at 1.75, 2,555 dollars, where 2.50 at will are 2,000: 55 % of use do not pay."""
    committed = option(2.5, rent="reserved", reserved={"usd_per_hour": 1.75})
    costed = only(ask({"options": [committed], "work": job(800)}))
    assert costed.total.expected_usd == pytest.approx(2555)
    figures = costed.break_even.reserved
    assert figures is not None
    assert figures.expected_utilisation == pytest.approx(800 / 1460)
    assert not figures.pays
