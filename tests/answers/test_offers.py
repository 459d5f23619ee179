"""GET /offers: conditions add up, families are fine, and null meets nothing."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.offers import OffersPage, OffersQuery, list_offers
from cardmatch.catalogue.world import bundled, succeed
from cardmatch.engine.money.offer import Offer, PriceKind, Tier
from cardmatch.engine.terms.fault import FaultCode, Invalid

WORLD = bundled()


def listed(**query: Any) -> OffersPage:
    """One long page of the bundled market."""
    return list_offers(WORLD, OffersQuery(**{"limit": 200, **query}))


def every(**query: Any) -> set[str]:
    """The ids on that page."""
    return {offer.id for offer in listed(**query).offers}


def expected(holds: Any) -> set[str]:
    """The ids of the offers of the data file for which *holds*."""
    return {offer.id for offer in WORLD.offers.values() if holds(offer)}


def test_a_card_filter_shows_that_card_alone() -> None:
    """By id or by any name that means it."""
    rows = expected(lambda offer: offer.card == "rtx-4090")
    assert len(rows) == 21
    assert every(card=("rtx-4090",)) == every(card=("NVIDIA GeForce RTX 4090",)) == rows | every(card=("4090",))


def test_a_family_filter_takes_offers_whose_card_is_surely_of_the_family() -> None:
    """An “H100 80 GB” of unknown form is an H100, but not surely an SXM."""
    family = {"h100-sxm-80", "h100-pcie-80", "h100-nvl-94"}

    def surely(offer: Offer) -> bool:
        return offer.card in family or bool(offer.card_candidates and set(offer.card_candidates) <= family)

    assert len(every(card=("H100",))) > len(
        every(card=("h100-sxm-80", "h100-pcie-80", "h100-nvl-94"), provider=("aws",))
    )
    assert every(card=("H100",)) == expected(surely)
    assert every(card=("h100-sxm-80",)) == expected(lambda offer: offer.card == "h100-sxm-80")


def test_offers_that_may_hold_the_card_are_shown_on_request() -> None:
    """`include_possible` adds those whose candidates name the card."""
    may = expected(lambda offer: offer.card == "h100-sxm-80" or "h100-sxm-80" in (offer.card_candidates or ()))
    assert every(card=("h100-sxm-80",), include_possible=True) == may
    assert may > every(card=("h100-sxm-80",))


def test_a_country_group_is_its_countries() -> None:
    """`eea` is every EEA state; an offer whose country is unknown is in none."""
    eea = {code for code, country in WORLD.countries.items() if country.eea}
    assert every(server_country=("eea",)) == expected(lambda offer: offer.server_country in eea)
    assert every(server_country=("IS", "CH")) == expected(lambda offer: offer.server_country in {"IS", "CH"})


def test_a_company_filter_looks_at_the_provider() -> None:
    """Where the server stands and where the company sits are two conditions."""
    rows = expected(lambda offer: WORLD.providers[offer.provider].company_country == "US")
    page = listed(company_country=("US",))
    assert page.total == len(rows)
    french = every(company_country=("US",), server_country=("FR",))
    assert french == {row for row in rows if WORLD.offers[row].server_country == "FR"}


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ({"tier": (Tier.SECURE,)}, lambda offer: offer.tier == "secure"),
        ({"price_kind": (PriceKind.CONTACT,)}, lambda offer: offer.price_kind == "contact"),
        ({"min_gpu_count": 8, "max_gpu_count": 8}, lambda offer: offer.gpu_count == 8),
        ({"max_usd_per_hour": 0.5}, lambda offer: offer.usd_per_hour is not None and offer.usd_per_hour <= 0.5),
        ({"spot": True}, lambda offer: offer.spot_usd_per_hour is not None),
        ({"as_of_from": dt.date(2026, 11, 1)}, lambda offer: offer.as_of >= dt.date(2026, 11, 1)),
        ({"link": ("nvswitch",)}, lambda offer: offer.link == "nvswitch"),
        ({"provider": ("runpod", "vast")}, lambda offer: offer.provider in {"runpod", "vast"}),
    ],
)
def test_each_condition_keeps_what_meets_it(query: dict[str, Any], holds: Any) -> None:
    """Compared with the data file, row by row."""
    assert every(**query) == expected(holds)
    assert expected(holds)


def test_announced_prices_hold_on_their_days() -> None:
    """Nebius announced higher prices from 2026-10-01; no offer shows both on one day."""
    before, after = (
        every(provider=("nebius",), effective_on=day) for day in (dt.date(2026, 9, 30), dt.date(2026, 10, 1))
    )
    assert before != after
    assert all(WORLD.offers[row].valid_from != dt.date(2026, 10, 1) for row in before)


def test_an_unknown_card_is_refused_where_it_stands() -> None:
    """The pointer is that of the parameter and its position."""
    with pytest.raises(Invalid) as refusal:
        listed(card=("rtx-4090", "rtx-4o90"))
    (fault,) = refusal.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.UNKNOWN_CARD, "/card/1")


def test_an_unknown_provider_is_refused_with_the_nearest() -> None:
    """A typo finds the provider that was meant."""
    with pytest.raises(Invalid) as refusal:
        listed(provider=("run-pod",))
    (fault,) = refusal.value.faults
    assert (fault.code, fault.pointer, fault.suggestions[0]) == (FaultCode.UNKNOWN_PROVIDER, "/provider/0", "runpod")


def test_an_unknown_country_is_refused_where_it_stands() -> None:
    """Ranges of codes that no row has are not silently empty."""
    with pytest.raises(Invalid) as refusal:
        listed(server_country=("XX",))
    assert refusal.value.faults[0].pointer == "/server_country/0"


def test_a_version_that_is_gone_is_refused() -> None:
    """The pointer is the parameter that pins it."""
    with pytest.raises(Invalid) as refusal:
        listed(catalogue_version="0" * 64)
    (fault,) = refusal.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.CATALOGUE_GONE, "/catalogue_version")


def test_a_pinned_version_is_answered_from() -> None:
    """The answer names the snapshot that it was made from."""
    newer = succeed(WORLD, msgspec.structs.replace(WORLD, version="f" * 64, offers={}))
    assert list_offers(newer, OffersQuery()).total == 0
    pinned = list_offers(newer, OffersQuery(catalogue_version=WORLD.version))
    assert (pinned.total, pinned.catalogue.version) == (len(WORLD.offers), WORLD.version)
