"""Fields that would change nothing are refused where they stand, not passed over."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.money.work import WORK as AT
from tests.engine.money.asking import ask, job, lines, option, refused

API: dict[str, Any] = {
    "label": "api",
    "price": {"kind": "token_api", "usd_per_million_input": 0.2, "usd_per_million_output": 0.6},
}
WORK = {"kind": "job", "unit": "token", "units": 1e9, "prompt_tokens": 1000, "output_tokens": 300}
SERVICE = {"kind": "service", "unit": "token", "utilisation": 0.5}
SPOT = {"interruptions_per_hour": 0.1, "checkpoint_seconds": 60, "restart_seconds": 300}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"card": "rtx-4090"}, "/card"),
        ({"count": 2}, "/count"),
        ({"throughput": {"kind": "measured", "units_per_second": 1}}, "/throughput"),
        ({"rent": "spot"}, "/rent"),
        ({"spot": SPOT}, "/spot"),
        ({"reserved": {"usd_per_hour": 1}}, "/reserved"),
        ({"startup": {}}, "/startup"),
        ({"charges": {"setup_usd": 5}}, "/charges/setup_usd"),
        ({"charges": {"egress_usd_per_gb": 0.1}}, "/charges/egress_usd_per_gb"),
    ],
)
def test_an_api_has_no_machines(fields: dict[str, Any], pointer: str) -> None:
    """Cards, rates and terms of machines say nothing of a price per token."""
    fault = refused({"options": [API | fields], "work": WORK})
    assert (fault.pointer, fault.code.value) == (f"/options/0{pointer}", "conflicts_with")


def test_tax_is_on_an_api_s_invoice_too() -> None:
    """292.31 dollars and a fifth of them; machines with the same tax break even where they did without."""
    taxed = {"tax_share": 0.2}
    plain = ask({"options": [API, option(0.69, 1000)], "work": WORK}).options
    dear = ask({"options": [API | {"charges": taxed}, option(0.69, 1000, charges=taxed)], "work": WORK}).options
    assert lines(dear[0])["tax"] == pytest.approx(0.2 * 292.307692)
    assert dear[0].total.expected_usd == pytest.approx(1.2 * 292.307692)
    assert dear[1].break_even.token_api[0].utilisation == pytest.approx(plain[1].break_even.token_api[0].utilisation)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"spot": SPOT}, "/spot"),
        ({"charges": {"prepaid": True}}, "/charges/prepaid"),
        ({"charges": {"min_top_up_usd": 25}}, "/charges/min_top_up_usd"),
    ],
)
def test_an_owner_is_no_tenant(fields: dict[str, Any], pointer: str) -> None:
    """Nobody interrupts an owned machine, and nobody is paid a balance for it."""
    own = {"label": "own", "price": {"kind": "purchase"}, "card": "h100-sxm-80"}
    rate = {"kind": "measured", "units_per_second": 1}
    fault = refused({"options": [own | {"throughput": rate} | fields], "work": job()})
    assert (fault.pointer, fault.code.value) == (f"/options/0{pointer}", "conflicts_with")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"time_value_usd_per_hour": 50}, "/time_value_usd_per_hour"),
        ({"data": {"stored_gb": 1, "stopped_hours": 10}}, "/data/stopped_hours"),
        ({"sweep": {"parameter": "idle_hours", "values": [1]}}, "/sweep/parameter"),
        ({"sweep": {"parameter": "failed_share", "values": [0.1]}}, "/sweep/parameter"),
    ],
)
def test_a_service_does_not_end(fields: dict[str, Any], pointer: str) -> None:
    """It is waited for by nobody, and not stopped for good."""
    fault = refused({"options": [option()], "work": SERVICE} | fields)
    assert (fault.pointer, fault.code.value) == (pointer, "only_for_jobs")


def test_a_job_is_not_kept_warm() -> None:
    """The price of idle workers is a service's."""
    fault = refused({"options": [option(charges={"keep_warm_usd_per_hour": 0.2})], "work": job()})
    assert (fault.pointer, fault.code.value) == ("/options/0/charges/keep_warm_usd_per_hour", "only_for_services")


def test_a_dollar_is_a_dollar() -> None:
    """A rate for USD other than one is the rate of another currency."""
    fault = refused({"options": [option()], "work": job(), "currency": {"code": "USD", "usd": 0.9}})
    assert (fault.pointer, fault.code.value) == ("/currency/usd", "dollar_is_one")
    price = {"kind": "caller", "per_hour": 1, "currency": {"code": "USD", "usd": 1.16}}
    assert refused({"options": [option(price=price)], "work": job()}).pointer == "/options/0/price/currency/usd"


def test_two_rates_of_one_currency_are_said() -> None:
    """A price at 1.16 dollars a euro and a total at 1.10 are not the same euros."""
    price = {"kind": "caller", "per_hour": 1, "currency": {"code": "EUR", "usd": 1.16}}
    body = {"options": [option(price=price)], "work": job()}
    apart = ask(body | {"currency": {"code": "EUR", "usd": 1.1}})
    alike = ask(body | {"currency": {"code": "EUR", "usd": 1.16}})
    assert [notice.code.value for notice in apart.notices] == ["currency_rates_differ"]
    assert alike.notices == ()
    assert alike.options[0].in_currency is not None
    assert alike.options[0].in_currency.expected == pytest.approx(1)


def test_how_many_gpus_a_price_is_of_is_echoed() -> None:
    """A rate measured on one GPU of a machine of eight would be an eighth of what the price is paid for."""
    price = {"kind": "caller", "usd_per_hour": 8, "gpus_per_instance": 8}
    figures = ask({"options": [option(price=price)], "work": job()})
    assert {each.pointer: each.value for each in figures.assumptions}["/options/0/count"] == 8


@pytest.mark.parametrize(
    ("charges", "pointer", "code"),
    [
        (
            {"egress_tiers": [{"up_to_gb": 100, "usd_per_gb": 0.1}, {"up_to_gb": 50, "usd_per_gb": 0.05}]},
            "/egress_tiers/1/up_to_gb",
            "not_above",
        ),
        (
            {"egress_tiers": [{"up_to_gb": None, "usd_per_gb": 0.1}, {"up_to_gb": 50, "usd_per_gb": 0.05}]},
            "/egress_tiers/0/up_to_gb",
            "tier_without_end",
        ),
        (
            {"egress_tiers": [{"up_to_gb": None, "usd_per_gb": 0.1}], "egress_usd_per_gb": 0.5},
            "",
            "at_most_one_of",
        ),
    ],
)
def test_tiers_of_traffic_follow_one_another(charges: dict[str, Any], pointer: str, code: str) -> None:
    """A tier that ends before it begins would be paid by nobody; two prices of one byte contradict each other."""
    fault = refused({"options": [option(charges=charges)], "work": job(), "data": {"out_gb": 200}})
    assert (fault.pointer, fault.code.value) == (f"/options/0/charges{pointer}", code)


def test_a_machine_bought_for_a_service_serves_all_month() -> None:
    """The share of its life is for jobs; a service owns every hour."""
    own = {"label": "own", "price": {"kind": "purchase", "utilisation": 0.5}, "card": "h100-sxm-80"}
    rate = {"kind": "measured", "units_per_second": 1}
    fault = refused({"options": [own | {"throughput": rate}], "work": SERVICE})
    assert (fault.pointer, fault.code.value) == ("/options/0/price/utilisation", "only_for_jobs")
    compared = {"options": [option()], "work": SERVICE, "purchase": {"utilisation": 0.5}}
    assert refused(compared).pointer == "/purchase/utilisation"


def test_what_is_kept_warm_does_not_start() -> None:
    """Starts are those of a service that scales to zero."""
    fault = refused({"options": [option()], "work": SERVICE | {"starts_per_month": 100}})
    assert (fault.pointer, fault.code.value) == (f"{AT}/starts_per_month", "conflicts_with")
