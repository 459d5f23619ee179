"""GET /offers: the market, filtered. A fact that is null never meets a condition."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.cards import CardName, families
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.pages import CursorText, Limit, Place, page, snapshot_of
from cardmatch.answers.providers import ProviderName, check_providers, chosen_countries
from cardmatch.catalogue.world import World
from cardmatch.engine.money.amounts import Day, UsdPerHour
from cardmatch.engine.money.country import CountrySelector
from cardmatch.engine.money.offer import Offer, OfferLink, PriceKind, Tier, is_effective
from cardmatch.text.language import Language

Gpus = Annotated[int, Meta(ge=1, le=1024)]
Countries = Annotated[tuple[CountrySelector, ...], Meta(max_length=50)]
Condition = Callable[[Offer], bool]


class OfferOrder(StrEnum):
    """By id, or by the price of the whole instance, unpriced offers last."""

    ID = "id"
    PRICE = "price"


class OffersQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which offers to list; conditions add up, and the values of one condition are alternatives."""

    card: Annotated[tuple[CardName, ...], Meta(max_length=20)] = ()
    provider: Annotated[tuple[ProviderName, ...], Meta(max_length=50)] = ()
    server_country: Countries = ()
    company_country: Countries = ()
    price_kind: Annotated[tuple[PriceKind, ...], Meta(max_length=5)] = ()
    tier: Annotated[tuple[Tier, ...], Meta(max_length=5)] = ()
    link: Annotated[tuple[OfferLink, ...], Meta(max_length=3)] = ()
    min_gpu_count: Gpus | None = None
    max_gpu_count: Gpus | None = None
    max_usd_per_hour: UsdPerHour | None = None
    spot: Annotated[bool, Meta(description="Whether a spot price is known.")] | None = None
    effective_on: Annotated[dt.date, Meta(description="The price holds on this day, as far as announced.")] | None = (
        None
    )
    as_of_from: Annotated[dt.date, Meta(description="The price was read on this day or later.")] | None = None
    include_possible: Annotated[bool, Meta(description="With `card`: offers too whose card may be one of these.")] = (
        False
    )
    order: OfferOrder = OfferOrder.ID
    limit: Limit = 50
    cursor: CursorText | None = None
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class OffersPage(msgspec.Struct, frozen=True, kw_only=True):
    """Offers in the order that was asked for. Prices are those of whole instances."""

    offers: tuple[Offer, ...]
    total: Annotated[int, Meta(ge=0, le=10**6, description="Offers that match, on all pages.")]
    next_cursor: str | None
    newest_as_of: Annotated[Day, Meta(description="When the newest of the matching prices was read.")] | None
    catalogue: CatalogueFacts
    release: str


def list_offers(world: World, query: OffersQuery) -> OffersPage:
    """The offers that meet every condition of *query*. Raises Invalid with pointers into it."""
    world = snapshot_of(world, query.catalogue_version, query.cursor)
    conditions = _conditions(world, query)
    rows = [offer for offer in world.offers.values() if all(met(offer) for met in conditions)]
    place = _by_price if query.order is OfferOrder.PRICE else _by_id
    shown, next_cursor = page(world, rows, place, limit=query.limit, cursor=query.cursor)
    return OffersPage(
        offers=shown,
        total=len(rows),
        next_cursor=next_cursor,
        newest_as_of=max((offer.as_of for offer in rows), default=None),
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def _conditions(world: World, query: OffersQuery) -> list[Condition]:
    """One test for every condition that *query* sets."""
    check_providers(world, query.provider, "/provider")
    servers = chosen_countries(world, query.server_country, "/server_country")
    companies = chosen_countries(world, query.company_country, "/company_country")
    tests = [
        *_on_cards(families(world, query.card, "/card"), possible=query.include_possible),
        *_among("provider", query.provider),
        *_among("server_country", servers),
        *_among("price_kind", query.price_kind),
        *_among("tier", query.tier),
        *_among("link", query.link),
        *_on_figures(query),
    ]
    if companies:
        based = {provider.id for provider in world.providers.values() if provider.company_country in companies}
        tests.append(lambda offer: offer.provider in based)
    return tests


def _on_cards(cards: frozenset[str] | None, *, possible: bool) -> list[Condition]:
    """The card is one of *cards*; of an offer with candidates all are, or with *possible* at least one."""
    if cards is None:
        return []

    def among(offer: Offer) -> bool:
        if offer.card is not None or offer.card_candidates is None:
            return offer.card in cards
        candidates = cards.intersection(offer.card_candidates)
        return bool(candidates) if possible else len(candidates) == len(offer.card_candidates)

    return [among]


def _among(field: str, values: Any) -> list[Condition]:
    """The field is one of *values*, where any are given."""
    if not values:
        return []
    wanted = frozenset(values)
    return [lambda offer: getattr(offer, field) in wanted]


def _on_figures(query: OffersQuery) -> list[Condition]:
    tests: list[Condition] = []
    if query.min_gpu_count is not None or query.max_gpu_count is not None:
        low, high = query.min_gpu_count or 1, query.max_gpu_count or 1024
        tests.append(lambda offer: low <= offer.gpu_count <= high)
    if (ceiling := query.max_usd_per_hour) is not None:
        tests.append(lambda offer: offer.usd_per_hour is not None and offer.usd_per_hour <= ceiling)
    if (spot := query.spot) is not None:
        tests.append(lambda offer: (offer.spot_usd_per_hour is not None) is spot)
    if (day := query.effective_on) is not None:
        tests.append(lambda offer: is_effective(offer, day))
    if (since := query.as_of_from) is not None:
        tests.append(lambda offer: offer.as_of >= since)
    return tests


def _by_id(offer: Offer) -> Place:
    return False, 0.0, offer.id


def _by_price(offer: Offer) -> Place:
    return offer.usd_per_hour is None, offer.usd_per_hour or 0.0, offer.id
