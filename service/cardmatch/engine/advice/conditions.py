"""The conditions of a request, looked up once, and what they make of one offer: a fact that is null meets none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from cardmatch.engine.advice.question import Constraints, Isolation, Wanted
from cardmatch.engine.hardware.card import Card, Ecc
from cardmatch.engine.money.country import Country, select
from cardmatch.engine.money.offer import Offer, age_days
from cardmatch.engine.money.provider import Bandwidth, Billing, IdentityCheck, Provider
from cardmatch.engine.money.spot import Spot
from cardmatch.engine.terms.fault import Invalid

_COUNTRIES = ("server_countries", "exclude_server_countries", "company_countries", "exclude_company_countries")


class Conditions(NamedTuple):
    """Constraints with countries as codes (null: none named), whether spot prices count, how those machines stop."""

    asked: Constraints
    servers: frozenset[str] | None
    no_servers: frozenset[str]
    companies: frozenset[str] | None
    no_companies: frozenset[str]
    spot: bool
    interruptions: Spot | None


class Judged(NamedTuple):
    """The conditions that an offer fails, and those that nobody knows enough to say."""

    failed: tuple[str, ...]
    unknown: tuple[str, ...]


def conditions(wanted: Wanted, countries: Mapping[str, Country]) -> Conditions:
    """The conditions of *wanted*. Raises Invalid where a country is not known."""
    asked = wanted.constraints
    chosen = {}
    for field in _COUNTRIES:
        try:
            chosen[field] = select(countries, getattr(asked, field))
        except Invalid as unknown:
            raise unknown.under(f"/constraints/{field}") from None
    return Conditions(
        asked,
        chosen["server_countries"] if asked.server_countries else None,
        chosen["exclude_server_countries"],
        chosen["company_countries"] if asked.company_countries else None,
        chosen["exclude_company_countries"],
        wanted.allow.spot,
        wanted.spot,
    )


def judge(offer: Offer, provider: Provider | None, wanted: Conditions, on: dt.date) -> Judged:
    """What *wanted* makes of *offer*; conditions on the card and on the whole option are looked at elsewhere."""
    asked = wanted.asked
    found: list[tuple[str, bool | None]] = []
    if asked.providers:
        found.append(("providers", offer.provider in asked.providers))
    if asked.exclude_providers:
        found.append(("exclude_providers", offer.provider not in asked.exclude_providers))
    found += _places(offer, provider, wanted)
    found += _terms(provider, asked)
    if asked.isolation is Isolation.DEDICATED:
        found.append(("isolation", _dedicated(offer, provider)))
    if asked.max_price_age_days is not None:
        found.append(("max_price_age_days", age_days(offer, on) <= asked.max_price_age_days))
    if not found:
        return _SUITS
    return Judged(
        tuple([name for name, met in found if met is False]), tuple([name for name, met in found if met is None])
    )


_SUITS = Judged((), ())


def _dedicated(offer: Offer, provider: Provider | None) -> bool | None:
    if offer.mig_profile is not None:
        return False
    return provider.dedicated_gpus if provider else None


def _places(offer: Offer, provider: Provider | None, wanted: Conditions) -> list[tuple[str, bool | None]]:
    found: list[tuple[str, bool | None]] = []
    servers = provider.server_countries if provider else None
    sure = offer.server_country is not None or (provider is not None and _stands_in_one(provider))
    if offer.server_country is not None:
        servers = (offer.server_country,)
    company = provider.company_country if provider else None
    if wanted.servers is not None:
        found.append(("server_countries", _if_sure(sure=sure, met=_within(servers, wanted.servers))))
    if wanted.no_servers:
        outside = _if_sure(sure=sure, met=_outside(servers, wanted.no_servers))
        found.append(("exclude_server_countries", _possible(wanted.servers, wanted.no_servers, met=outside)))
    if wanted.companies is not None:
        found.append(("company_countries", None if company is None else company in wanted.companies))
    if wanted.no_companies:
        outside = None if company is None else company not in wanted.no_companies
        found.append(("exclude_company_countries", _possible(wanted.companies, wanted.no_companies, met=outside)))
    return found


_SEEN_IN_OFFERS = "offers rows"
"""Where a provider's countries were only gathered from those of its offers that say theirs."""


def _stands_in_one(provider: Provider) -> bool:
    """Whether the provider is published to have machines in one country alone: then that is where each offer stands."""
    field = "server_countries"
    published = field not in provider.uncertain and provider.sources.get(field) not in {None, _SEEN_IN_OFFERS}
    return published and len(provider.server_countries or ()) == 1


def _if_sure(*, sure: bool, met: bool | None) -> bool | None:
    """An offer that does not say where it stands meets nothing by what else its provider has."""
    return None if met and not sure else met


def _possible(wanted: frozenset[str] | None, refused: frozenset[str], *, met: bool | None) -> bool | None:
    """What is not known of an offer cannot turn out right where everything that is wanted is refused, too."""
    return False if met is None and wanted is not None and wanted <= refused else met


def _within(places: tuple[str, ...] | None, wanted: frozenset[str]) -> bool | None:
    """Of a provider with several places it is only known where all, or none, of them are wanted."""
    if not places:
        return None
    inside = [place in wanted for place in places]
    return all(inside) or (None if any(inside) else False)


def _outside(places: tuple[str, ...] | None, refused: frozenset[str]) -> bool | None:
    inside = _within(places, refused)
    return None if inside is None else not inside


def _terms(provider: Provider | None, asked: Constraints) -> list[tuple[str, bool | None]]:
    found: list[tuple[str, bool | None]] = []
    if asked.identity_check is not None:
        known = provider.identity_check if provider else IdentityCheck.UNKNOWN
        found.append(("identity_check", None if known is IdentityCheck.UNKNOWN else known is asked.identity_check))
    if asked.billing is not None:
        billing = provider.billing if provider else None
        found.append(("billing", None if billing is None else billing in {asked.billing, Billing.BOTH}))
    if asked.payment_methods:
        taken = provider.payment_methods if provider else None
        found.append(("payment_methods", None if taken is None else not set(taken).isdisjoint(asked.payment_methods)))
    if asked.unmetered_bandwidth:
        bandwidth = provider.bandwidth if provider else None
        found.append(("unmetered_bandwidth", None if bandwidth is None else bandwidth is Bandwidth.UNMETERED))
    return found


def refused_card(card: Card, asked: Constraints) -> str | None:
    """The condition on cards that *card* fails; ECC that must be switched on first is not there."""
    if card.id in asked.exclude_cards:
        return "exclude_cards"
    if asked.cards and card.id not in asked.cards:
        return "cards"
    if asked.ecc and card.ecc is not Ecc.YES:
        return "ecc"
    if asked.isolation is Isolation.MIG and card.mig is None:
        return "isolation"
    return None
