"""Joining what sources brought with what the catalogue had: last good data stays wherever the new falls short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.catalogue.feed import FeedKey, by_feed
from cardmatch.catalogue.importers.knowledge import provider_name
from cardmatch.catalogue.names.spelling import key
from cardmatch.catalogue.snapshot import CardName, Snapshot
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.money.offer import Offer, PricePoint
from cardmatch.engine.money.provider import Provider

Share = Annotated[float, Meta(ge=0, le=1)]
_HISTORY = 8


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may vanish at once: of one provider's offers (then its last good ones stay), and of all of them."""

    provider_loss: Share = 0.5
    total_loss: Share = 0.2


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """The offers, and for every feed that the sources named why its new rows were not taken (None: they were)."""

    offers: tuple[Offer, ...]
    problems: dict[FeedKey, str | None]


def merge(
    before: Iterable[Offer], replacing: Iterable[Offer], adding: Iterable[Offer], limits: Limits, *, force: bool
) -> Merged:
    """The offers *before*, with the feeds in *replacing* exchanged whole and the rows of *adding* put in by id."""
    feeds = {name: {row.id: row for row in rows} for name, rows in by_feed(before).items()}
    problems: dict[FeedKey, str | None] = {}
    for name, rows in by_feed(replacing).items():
        old = feeds.get(name, {})
        problems[name] = None if force else _shrunk(len(old), len(rows), limits.provider_loss)
        if problems[name] is None:
            feeds[name] = {row.id: _aged(old.get(row.id), row) for row in rows}
    for name, rows in by_feed(adding).items():
        feed = feeds.setdefault(name, {})
        feed.update({row.id: _aged(feed.get(row.id), row) for row in rows})
        problems.setdefault(name, None)
    # Two feeds may claim one id only where an operator names it; the later feed then wins, as later sources do.
    offers = {row.id: row for feed in feeds.values() for row in feed.values()}
    return Merged(offers=tuple(offers[row] for row in sorted(offers)), problems=problems)


def losses(before: Sequence[Offer], after: Sequence[Offer], limits: Limits) -> tuple[str, ...]:
    """Why a snapshot is not to be believed: too many of its offers, or of their prices, are gone."""
    counts = {"offers": (len(before), len(after)), "offers with a price": (_priced(before), _priced(after))}
    shrunk = {what: _shrunk(old, new, limits.total_loss) for what, (old, new) in counts.items()}
    return tuple(f"{what}: {problem}" for what, problem in shrunk.items() if problem is not None)


def with_cards(snapshot: Snapshot, cards: Iterable[Card]) -> Snapshot:
    """*snapshot* with *cards* added or exchanged by id; each can be called by its id and its name."""
    merged = {row.id: row for row in snapshot.cards} | {card.id: card for card in cards}
    names = {row.key: row for row in snapshot.card_names}
    for card in merged.values():
        for spelling in (key(card.id), key(card.name)):
            names.setdefault(spelling, CardName(key=spelling, cards=(card.id,)))
    return msgspec.structs.replace(
        snapshot,
        cards=tuple(merged[card] for card in sorted(merged)),
        card_names=tuple(names[name] for name in sorted(names)),
    )


def with_providers(snapshot: Snapshot, providers: Iterable[Provider], offers: Iterable[Offer]) -> Snapshot:
    """*snapshot* with *providers* added or exchanged by id, and a bare row for whoever *offers* name besides."""
    merged = {row.id: row for row in snapshot.providers} | {provider.id: provider for provider in providers}
    for offer in offers:
        for name in filter(None, (offer.provider, offer.broker)):
            if name not in merged:
                merged[name] = Provider(id=name, name=provider_name(name))
    return msgspec.structs.replace(snapshot, providers=tuple(merged[name] for name in sorted(merged)))


def _shrunk(before: int, after: int, allowed: float) -> str | None:
    """What is lost, in words, where it is more than the allowed share."""
    if before == 0 or before - after <= allowed * before:
        return None
    return f"{before - after} of {before} lost"


def _priced(offers: Iterable[Offer]) -> int:
    return sum(row.usd_per_hour is not None or row.spot_usd_per_hour is not None for row in offers)


def _aged(before: Offer | None, now: Offer) -> Offer:
    """*now*, with the price that it had *before* in its history; an older reading never displaces a newer one."""
    if before is None:
        return now
    if now.as_of < before.as_of:
        return before
    history = before.history
    if (before.usd_per_hour, before.spot_usd_per_hour) != (now.usd_per_hour, now.spot_usd_per_hour):
        point = PricePoint(
            as_of=before.as_of, usd_per_hour=before.usd_per_hour, spot_usd_per_hour=before.spot_usd_per_hour
        )
        history = (point, *history)[:_HISTORY]
    return msgspec.structs.replace(now, history=history)
