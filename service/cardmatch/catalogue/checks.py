"""What must hold between the rows of a snapshot, beyond the type of each: checked before anything is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from cardmatch.catalogue.feed import key_of
from cardmatch.catalogue.snapshot import Snapshot
from cardmatch.engine.hardware.card import mig_profile
from cardmatch.engine.money.offer import Offer, PriceKind


def problems(snapshot: Snapshot) -> list[str]:
    """Everything that is wrong with *snapshot*, in words for an operator; empty where it may be published."""
    return [*_order(snapshot), *_references(snapshot), *_offers(snapshot), *_feeds(snapshot)]


def _order(snapshot: Snapshot) -> Iterator[str]:
    """Each list sorted, each id once: canonical bytes depend on it."""
    lists: dict[str, Iterable[str]] = {
        "cards": (row.id for row in snapshot.cards),
        "card_names": (row.key for row in snapshot.card_names),
        "offers": (row.id for row in snapshot.offers),
        "providers": (row.id for row in snapshot.providers),
        "countries": (row.code for row in snapshot.countries),
        "ownership": (row.card for row in snapshot.ownership),
    }
    for name, keys in lists.items():
        listed = list(keys)
        if listed != sorted(listed):
            yield f"{name}: not in the order of its ids"
        yield from (f"{name}: {key} occurs {count} times" for key, count in Counter(listed).items() if count > 1)


def _references(snapshot: Snapshot) -> Iterator[str]:
    """Every name leads to a row."""
    cards = {row.id for row in snapshot.cards}
    countries = {row.code for row in snapshot.countries}
    for card in snapshot.cards:
        yield from (
            f"cards: {card.id}: no source {key}" for key in card.sources.values() if key not in snapshot.card_sources
        )
    for name in snapshot.card_names:
        yield from (f"card_names: {name.key}: no card {card}" for card in name.cards if card not in cards)
    for provider in snapshot.providers:
        named = {*(provider.server_countries or ()), *filter(None, [provider.company_country])}
        yield from (f"providers: {provider.id}: no country {code}" for code in sorted(named - countries))
    yield from (f"ownership: no card {row.card}" for row in snapshot.ownership if row.card not in cards)


def _offers(snapshot: Snapshot) -> Iterator[str]:
    cards = {row.id: row for row in snapshot.cards}
    providers = {row.id for row in snapshot.providers}
    countries = {row.code for row in snapshot.countries}
    for offer in snapshot.offers:
        named = {offer.card} if offer.card else set(offer.card_candidates or ())
        if (offer.card is None) == (offer.card_candidates is None) or not named <= cards.keys():
            yield f"offers: {offer.id}: its card is not one of the catalogue, or it has both a card and candidates"
        if not {offer.provider, offer.broker or offer.provider} <= providers:
            yield f"offers: {offer.id}: no such provider or broker"
        if offer.server_country is not None and offer.server_country not in countries:
            yield f"offers: {offer.id}: no country {offer.server_country}"
        known = [cards[card] for card in named & cards.keys()]
        if offer.mig_profile is not None and not all(mig_profile(card, offer.mig_profile) for card in known):
            yield f"offers: {offer.id}: its card has no MIG profile {offer.mig_profile}"
        if fault := _price(offer):
            yield f"offers: {offer.id}: {fault}"


def _price(offer: Offer) -> str | None:
    if offer.price_kind is PriceKind.CONTACT and offer.usd_per_hour is not None:
        return "on request, but with a price"
    if offer.usd_per_hour is not None and offer.spot_usd_per_hour is not None:
        return "spot not below the list price" if offer.spot_usd_per_hour >= offer.usd_per_hour else None
    return None


def _feeds(snapshot: Snapshot) -> Iterator[str]:
    counted = Counter(key_of(offer) for offer in snapshot.offers)
    stated = {key_of(feed): feed.offers for feed in snapshot.feeds}
    if counted != stated:
        yield "feeds: they do not count the offers that there are"
