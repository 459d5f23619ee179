"""Traffic: allowances, tiers, and what a checkpoint or a data set costs to move."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.money.traffic import EgressTier, egress_usd
from tests.engine.money.asking import ask, job, lines, offer, only, option

AWS = (
    EgressTier(up_to_gb=10_000, usd_per_gb=0.09),
    EgressTier(up_to_gb=50_000, usd_per_gb=0.085),
    EgressTier(up_to_gb=None, usd_per_gb=0.07),
)


def test_tiers_are_paid_one_after_the_other() -> None:
    """60,000 GB: 10,000 at 9 cents, 40,000 at 8.5, 10,000 at 7."""
    assert egress_usd(60_000, 0, AWS) == pytest.approx(900 + 3400 + 700)


def test_an_allowance_comes_first() -> None:
    """Oracle includes 10 TB a month; 12 TB pay for two at 0.85 cents a GB."""
    assert egress_usd(12_000, 10_000, (EgressTier(up_to_gb=None, usd_per_gb=0.0085),)) == pytest.approx(17)
    assert egress_usd(9_000, 10_000, AWS) == 0


def test_a_last_tier_with_an_end_goes_on() -> None:
    """Nobody carries bytes for nothing beyond the end of a price list."""
    assert egress_usd(20, 0, (EgressTier(up_to_gb=10, usd_per_gb=1.0),)) == 20


@pytest.mark.parametrize(("usd_per_gb", "usd"), [(0.09, 12.60), (0.12, 16.80), (0.0, 0.0)])
def test_a_checkpoint_of_140_gb_out(usd_per_gb: float, usd: float) -> None:
    """70B parameters at two bytes, at the first tiers of AWS and Google, and where traffic is free."""
    charges = {"billing_increment_seconds": 1, "egress_usd_per_gb": usd_per_gb}
    bill = lines(only(ask({"options": [option(charges=charges)], "work": job(), "data": {"out_gb": 140}})))
    assert bill.get("egress", 0.0) == pytest.approx(usd)


def test_a_data_set_of_200_gb_in_and_out() -> None:
    """At a metered provider moving in is free and moving out costs 18 dollars; unmetered, both are free."""
    metered = offer(id="acme/metered", egress_usd_per_gb=0.09)
    unmetered = offer(id="acme/unmetered", egress_usd_per_gb=None)
    body = {
        "options": [_of("acme/metered"), _of("acme/unmetered")],
        "work": job(),
        "data": {"in_gb": 200, "out_gb": 200},
    }
    paid, free = ask(body, offers=(metered, unmetered), provider={"bandwidth": "unmetered"}).options
    assert lines(paid)["egress"] == pytest.approx(18)
    assert "ingress" not in lines(paid)
    assert lines(free).keys() == {"work"}


def test_ingress_is_paid_where_it_is_charged() -> None:
    """Marketplaces bill traffic in both directions; a failed run has moved its data in as well."""
    charges = {"ingress_usd_per_gb": 0.01}
    body = {"options": [option(charges=charges)], "work": job(), "data": {"in_gb": 200}, "failed_share": 0.5}
    assert lines(only(ask(body)))["ingress"] == pytest.approx(4)


def test_an_unknown_price_is_not_free() -> None:
    """Where nobody says what traffic costs, the line is missing, said so, and the band reaches up to 12 cents a GB."""
    figures = ask({"options": [option()], "work": job(), "data": {"out_gb": 100}})
    costed = only(figures)
    assert "egress" not in lines(costed)
    assert [notice.code.value for notice in costed.notices] == ["egress_price_unknown"]
    assert costed.total.high_usd == pytest.approx(1 + 12)
    assert figures.ask_next is not None
    assert figures.ask_next.pointer == "/options/0/charges/egress_usd_per_gb"


def _of(identifier: str) -> dict[str, Any]:
    return option(label=identifier, price={"kind": "offer", "offer": identifier}, charges={})
