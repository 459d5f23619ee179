"""The market data: offers, providers, countries and ownership agree with the cards and with one another."""

import datetime as dt

import pytest

from cardmatch.catalogue.feed import key_of
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import AsOfKind, Offer, OfferLink, PriceKind, Tier
from cardmatch.engine.money.provider import Bandwidth, Billing, IdentityCheck, PaymentMethod, Provider

WORLD = bundled()
OFFERS = list(WORLD.offers.values())
PROVIDERS = list(WORLD.providers.values())
COUNTRIES = list(WORLD.countries.values())
each_offer = pytest.mark.parametrize("offer", OFFERS, ids=[offer.id for offer in OFFERS])
each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=[provider.id for provider in PROVIDERS])
each_country = pytest.mark.parametrize("country", COUNTRIES, ids=[country.code for country in COUNTRIES])


def test_the_market_is_whole() -> None:
    """As many rows as were transcribed, sorted and unique."""
    assert (len(OFFERS), len(PROVIDERS), len(COUNTRIES)) == (313, 38, 68)
    for ids in (list(WORLD.offers), list(WORLD.providers), list(WORLD.countries)):
        assert ids == sorted(set(ids))


@each_offer
def test_an_offer_names_what_exists(offer: Offer) -> None:
    """Provider, broker, card (or candidates, never both) and country have rows of their own."""
    assert offer.provider in WORLD.providers
    assert offer.broker is None or offer.broker in WORLD.providers
    assert (offer.card is None) != (offer.card_candidates is None)
    assert set((offer.card,) if offer.card else offer.card_candidates or ()) <= WORLD.cards.keys()
    assert offer.server_country is None or offer.server_country in WORLD.countries
    assert (offer.broker is not None) == (offer.tier is Tier.BROKERED)


@each_offer
def test_an_offers_price_is_honest(offer: Offer) -> None:
    """A price on request is null, spot is below the list price, and every other offer has some price."""
    assert (offer.price_kind is not PriceKind.CONTACT) or (offer.usd_per_hour is None)
    if offer.usd_per_hour is not None and offer.spot_usd_per_hour is not None:
        assert offer.spot_usd_per_hour < offer.usd_per_hour
    if offer.usd_per_hour is None and offer.spot_usd_per_hour is None:
        assert offer.price_native is not None or offer.price_kind is PriceKind.CONTACT


@each_offer
def test_an_offers_days_stand_in_order(offer: Offer) -> None:
    """Nothing was read after the day of the catalogue; an estimate is the end of its range."""
    assert offer.as_of <= WORLD.as_of
    if offer.as_of_kind is AsOfKind.ESTIMATED:
        assert offer.as_of_range is not None
        assert offer.as_of_range[1] == offer.as_of
    if offer.as_of_range is not None and offer.as_of_range[0] is not None:
        assert offer.as_of_range[0] <= offer.as_of_range[1]
    if offer.valid_from is not None and offer.valid_until is not None:
        assert offer.valid_from <= offer.valid_until


@each_offer
def test_an_offers_link_is_possible(offer: Offer) -> None:
    """A bridge or NVSwitch joins only cards that have a link, and an id starts with its provider."""
    if offer.link in (OfferLink.BRIDGE, OfferLink.NVSWITCH) and offer.card is not None:
        assert WORLD.cards[offer.card].nvlink is not None
    assert offer.id.startswith(f"{offer.provider}/")
    assert offer.id.endswith(f"/{offer.tier}")
    assert offer.source


@each_provider
def test_a_providers_facts_have_sources(provider: Provider) -> None:
    """Every filled field says where it was read, and every country of a provider exists."""
    filled = {
        name
        for name in provider.__struct_fields__
        if name not in {"id", "name", "note", "sources", "uncertain"}
        and getattr(provider, name) not in (None, IdentityCheck.UNKNOWN)
    }
    assert filled == provider.sources.keys()
    assert set(provider.uncertain) <= filled
    assert set(provider.server_countries or ()) <= WORLD.countries.keys()
    assert provider.company_country is None or provider.company_country in WORLD.countries


def test_every_offer_belongs_to_one_feed() -> None:
    """A feed counts its offers, spans their days, and no offer is without one."""
    assert sum(feed.offers for feed in WORLD.feeds) == len(OFFERS)
    assert len({key_of(feed) for feed in WORLD.feeds}) == len(WORLD.feeds)
    for feed in WORLD.feeds:
        rows = [offer for offer in OFFERS if key_of(offer) == key_of(feed)]
        assert feed.offers == len(rows)
        assert feed.oldest_as_of == min(row.as_of for row in rows)
        assert feed.newest_as_of == max(row.as_of for row in rows)


def test_chainvps_is_listed_as_the_guide_states_it() -> None:
    """Six locations, three cards in each, no identity check, prepaid, coins, unmetered; no price was ever read."""
    provider = WORLD.providers["chainvps"]
    assert provider.server_countries == ("CH", "IS", "LU", "MD", "NL", "RO")
    assert provider.identity_check is IdentityCheck.NONE
    assert provider.billing is Billing.PREPAID
    assert provider.bandwidth is Bandwidth.UNMETERED
    assert provider.payment_methods is not None
    assert PaymentMethod.MONERO in provider.payment_methods
    rows = [offer for offer in OFFERS if offer.provider == "chainvps"]
    places = [(offer.server_country, offer.instance_type) for offer in rows]
    assert len(set(places)) == len(rows) == 18
    assert {country for country, _ in places} == set(provider.server_countries)
    assert {offer.usd_per_hour for offer in rows} == {None}


def test_cloudzy_is_listed_as_its_own_pages_state_it() -> None:
    """Seven days cash, credit to day 14, 99.95 %, metered with an allowance, up to 40 Gb/s; no GPU price was read."""
    provider = WORLD.providers["cloudzy"]
    assert (provider.refund_days_cash, provider.refund_days_credit, provider.sla_percent) == (7, 14, 99.95)
    assert provider.bandwidth is Bandwidth.INCLUDED_ALLOWANCE
    assert provider.billing_increment_seconds == 3600
    rows = [offer for offer in OFFERS if offer.provider == "cloudzy"]
    assert {offer.network_gb_s for offer in rows} == {5.0}
    assert {offer.usd_per_hour for offer in rows} == {None}


@each_country
def test_alliances_and_unions_nest(country: Country) -> None:
    """Five Eyes are among the nine and those among the fourteen; the EU lies inside the EEA, where the GDPR applies."""
    assert country.five_eyes <= country.nine_eyes <= country.fourteen_eyes
    assert country.eu <= country.eea
    assert (country.gdpr_adequacy is None) == country.eea


def test_unions_and_alliances_have_their_members() -> None:
    """27 in the EU, 30 in the EEA, and 5, 9 and 14 Eyes."""
    count = {
        group: sum(getattr(country, group) for country in COUNTRIES)
        for group in ("eu", "eea", "five_eyes", "nine_eyes", "fourteen_eyes")
    }
    assert count == {"eu": 27, "eea": 30, "five_eyes": 5, "nine_eyes": 9, "fourteen_eyes": 14}
    assert WORLD.country_sources.keys() == {*count, "gdpr_adequacy"}


def test_the_guides_privacy_locations_are_told_apart() -> None:
    """Of NL, CH, RO, IS, MD and LU only the Netherlands are among the Nine Eyes."""
    eyes = {code: WORLD.countries[code].nine_eyes for code in ("NL", "CH", "RO", "IS", "MD", "LU")}
    assert eyes == {"NL": True, "CH": False, "RO": False, "IS": False, "MD": False, "LU": False}


def test_owning_has_rows_for_cards_that_exist() -> None:
    """Ranges run upwards, power agrees with the card's, and each row has a source."""
    assert WORLD.ownership.keys() <= WORLD.cards.keys()
    assert {"rtx-4090", "a100-sxm-80", "h100-sxm-80"} <= WORLD.ownership.keys()
    for row in WORLD.ownership.values():
        assert row.sources
        assert row.tdp_watts == WORLD.cards[row.card].tdp_watts
        for interval in (row.street_usd, row.used_usd, row.node.usd if row.node else None):
            assert interval is None or 0 < interval.low <= interval.high


def test_shared_costs_of_owning_are_plausible() -> None:
    """A PUE of a modern site is below the world's average, and prices of electricity run upwards."""
    costs = WORLD.ownership_costs
    assert costs.pue_hyperscale.low <= costs.pue_modern_site <= costs.pue_world_average
    assert all(price.low_per_kwh <= price.high_per_kwh for price in costs.electricity)
    assert len({price.id for price in costs.electricity}) == len(costs.electricity)
    assert all(rate.as_of <= WORLD.as_of for rate in costs.exchange_rates)


def test_the_catalogue_is_dated() -> None:
    """The day of the newest transcription."""
    assert WORLD.as_of == dt.date(2026, 11, 30)
