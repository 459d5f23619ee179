"""Owning instead of renting, against figures worked out on paper from published prices."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.engine.money.owning import months_to_pay_off, owned_hour
from cardmatch.engine.money.purchase import OwnedHour, Purchase
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import FaultCode, Invalid
from tests.engine.money.asking import COSTS, H100, RTX_4090, ask, job, only, option

# A node of 325,000 dollars and 10.2 kW for eight H100; three years, 30 % residual value, 10 % cost of capital.
NODE: dict[str, Any] = {
    "capex_usd": 325_000,
    "gpus": 8,
    "power_kw": 10.2,
    "life_years": 3,
    "residual_share": 0.3,
    "cost_of_capital": 0.1,
    "pue": 1.2,
    "usd_per_kwh": 0.1,
}
EUROPE = {"pue": 1.54, "usd_per_kwh": 0.1902 * 1.1637}  # Eurostat, non-household, H1 2025; ECB rate
COLOCATION = {"hosting_usd_per_kw_month": 200}


def _hour(**fields: Any) -> OwnedHour:
    return owned_hour(msgspec.convert(NODE | fields, Purchase), COSTS, None)[0]


@pytest.mark.parametrize(
    ("fields", "usd"), [({}, 1.54), (EUROPE, 1.82), (COLOCATION, 1.73)], ids=["10 cents", "Europe", "hosted"]
)
def test_an_hour_of_an_owned_h100_costs_what_the_market_survey_found(fields: dict[str, Any], usd: float) -> None:
    """1.082 depreciation + 0.301 capital + power or hosting, per GPU."""
    hour = _hour(**fields)
    assert hour.depreciation_usd == pytest.approx(325_000 / 8 * 0.7 / 26_280)
    assert hour.capital_usd == pytest.approx(0.1 * 325_000 / 8 * 0.65 / 8760)
    assert round(hour.expected_usd, 2) == usd


def test_the_catalogue_knows_the_same_node() -> None:
    """Without any figure of the caller's, the published node gives 1.54 dollars and a range around it."""
    hour, defaults = owned_hour(Purchase(), COSTS, H100)
    assert round(hour.expected_usd, 2) == 1.54
    assert hour.low_usd < 1.45
    assert hour.high_usd > 1.65
    assert hour.lead_time_weeks == 40
    assert dict(defaults) == pytest.approx(
        {
            "capex_usd": 325_000,
            "life_years": 3,
            "cost_of_capital": 0.1,
            "residual_share": 0.3,
            "power_kw": 10.2,
            "pue": 1.2,
            "usd_per_kwh": 0.1,
        }
    )


@pytest.mark.parametrize(("rent", "percent"), [(2.69, 57), (3.99, 39), (4.50, 34), (6.88, 22)])
def test_break_even_utilisation_is_owning_over_renting(rent: float, percent: int) -> None:
    """1.54 dollars an hour against four rents of an H100."""
    body = {"options": [option(rent, card="h100-sxm-80")], "work": job(), "purchase": NODE}
    buy = only(ask(body)).break_even.buy
    assert buy is not None
    assert round(100 * buy.utilisation) == percent
    assert buy.rent_usd_per_gpu_hour == rent


def test_cards_without_a_published_node_are_a_rule_of_thumb() -> None:
    """A 4090 at 1,800 to 2,200 dollars in a machine that costs 35 % more than its cards: 2,700 dollars."""
    hour, _ = owned_hour(Purchase(), COSTS, RTX_4090)
    assert hour.basis is Basis.RULE_OF_THUMB
    assert hour.capex_usd == pytest.approx(2700)
    assert hour.power_usd == pytest.approx(0.45 * 10.2 / 5.6 * 1.2 * 0.1)


def test_what_nobody_priced_is_refused() -> None:
    """Without a price of the caller's or the catalogue's there is nothing to write off."""
    with pytest.raises(Invalid) as refused:
        owned_hour(Purchase(), COSTS, None)
    assert refused.value.faults[0].code is FaultCode.PURCHASE_PRICE_UNKNOWN
    with pytest.raises(Invalid) as powerless:
        owned_hour(Purchase(capex_usd=1000), COSTS, None)
    assert powerless.value.faults[0].code is FaultCode.PURCHASE_POWER_UNKNOWN


def test_residual_value_falls_by_the_same_share_every_year() -> None:
    """30 % after three years is 9 % after six."""
    purchase = msgspec.convert({"life_years": 6}, Purchase)
    _, defaults = owned_hour(purchase, COSTS, H100)
    assert dict(defaults)["residual_share"] == pytest.approx((0.25**2 + 0.35**2) / 2)


def test_months_until_rent_saved_has_paid_the_machine() -> None:
    """At 4.153 dollars an hour, 730 hours and 0.153 of power, 2,920 dollars a month pay 40,625 in 13.9 months."""
    months = months_to_pay_off(_hour(), 4.153, 730, 3)
    assert months == pytest.approx(40_625 / 2920, rel=1e-3)
    assert months_to_pay_off(_hour(), 0.1, 730, 3) is None


def test_what_pays_after_its_life_never_pays() -> None:
    """At one dollar an hour 618 a month are saved: 65.7 months, more than three years have and fewer than six."""
    assert months_to_pay_off(_hour(), 1.0, 730, 3) is None
    assert months_to_pay_off(_hour(), 1.0, 730, 6) == pytest.approx(40_625 / (730 - 0.153 * 730), rel=1e-3)


def test_networking_spares_and_staff_are_paid_too() -> None:
    """15 % of capex for networking and 5 % for spares raise what is written off by a fifth."""
    plain, dearer = _hour(), _hour(networking_share=0.15, spares_share=0.05, staff_usd_per_year=8760)
    assert dearer.depreciation_usd == pytest.approx(1.2 * plain.depreciation_usd)
    assert dearer.staff_usd == pytest.approx(1 / 8)


def test_copies_of_a_service_each_need_a_machine() -> None:
    """Four copies cost four rents and four machines: months to pay off are those of one."""
    one, four = (
        only(
            ask(
                {
                    "options": [option(2.69, 1, card="h100-sxm-80")],
                    "work": {"kind": "service", "unit": "item", "units_per_month": units},
                    "purchase": NODE,
                }
            )
        )
        for units in (2e6, 1e7)
    )
    assert (one.replicas, four.replicas) == (1, 4)
    assert one.break_even.buy is not None
    assert four.break_even.buy is not None
    # 2.69 · 730 less 0.153 · 730 a month, of 40,625.
    assert one.break_even.buy.months == pytest.approx(40_625 / (2.537 * 730), rel=1e-3)
    assert four.break_even.buy.months == pytest.approx(one.break_even.buy.months)
    assert one.break_even.buy.pays


def test_a_machine_that_is_used_half_the_time_takes_longer_to_pay_off() -> None:
    """365 hours of 2.69 dollars saved a month while power runs on: 46.7 months of five years; three are too few."""
    purchase = NODE | {"utilisation": 0.5, "life_years": 5}
    body = {"options": [option(2.69, card="h100-sxm-80")], "work": job(), "purchase": purchase}
    buy = only(ask(body)).break_even.buy
    assert buy is not None
    assert buy.expected_utilisation == 0.5
    assert buy.pays
    three = only(ask(body | {"purchase": NODE | {"utilisation": 0.5}})).break_even.buy
    assert three is not None
    assert (three.pays, three.months) == (False, None)
    assert buy.months == pytest.approx(40_625 / (2.69 * 365 - 0.153 * 730), rel=1e-3)
    unsaid = only(ask(body | {"purchase": NODE})).break_even.buy
    assert unsaid is not None
    assert (unsaid.expected_utilisation, unsaid.pays) == (None, None)


def test_what_the_purchase_was_assumed_to_cost_is_echoed() -> None:
    """A comparison with the published node says which price, life and power it took."""
    figures = ask({"options": [option(2.69, card="h100-sxm-80")], "work": job(), "purchase": {"life_years": 4}})
    said = {each.pointer: each.value for each in figures.assumptions}
    assert said["/purchase/capex_usd"] == 325_000
    assert said["/purchase/power_kw"] == 10.2
    assert "/purchase/life_years" not in said


def test_a_node_is_bought_whole() -> None:
    """One rented H100 against a share of a node of eight: said, since nobody sells the share; eight are the node."""
    for count, codes in ((1, ["bought_whole"]), (8, [])):
        body = {"options": [option(2.69 * count, card="h100-sxm-80", count=count)], "work": job(), "purchase": {}}
        assert [notice.code.value for notice in only(ask(body)).notices] == codes


def test_a_price_without_its_residual_value_is_not_exact() -> None:
    """What is left after three years is the published range unless the owner states it."""
    stated = msgspec.convert(NODE, Purchase)
    assert owned_hour(stated, COSTS, H100)[0].basis is Basis.EXACT
    left_open, _ = owned_hour(msgspec.structs.replace(stated, residual_share=None), COSTS, H100)
    assert left_open.basis is Basis.EXTRAPOLATED
    assert left_open.low_usd < left_open.expected_usd < left_open.high_usd
