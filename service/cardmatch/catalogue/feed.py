"""A feed: where one provider's offers came from, when they were last refreshed, and how old they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import Day, ProviderId
from cardmatch.engine.money.offer import Offer

FeedKey = tuple[str, str | None]
"""A provider, and the broker that resells it (None for its own offers)."""


class FeedOutcome(StrEnum):
    """Shipped with the release, taken from the last refresh, or kept because that refresh failed for the provider."""

    BUNDLED = "bundled"
    FRESH = "fresh"
    KEPT = "kept"


class Feed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider's offers, its own or those that a broker resells: how many, how many with a price, and how old."""

    provider: ProviderId
    broker: ProviderId | None = None
    importer: Annotated[str, Meta(min_length=1, max_length=40)]
    outcome: FeedOutcome
    offers: Annotated[int, Meta(ge=0, le=10**6)]
    priced_offers: Annotated[int, Meta(ge=0, le=10**6)]
    oldest_as_of: Day | None
    newest_as_of: Day | None
    refreshed_on: Day | None = None
    problem: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


def feed(
    key: FeedKey,
    offers: Iterable[Offer],
    *,
    importer: str,
    outcome: FeedOutcome,
    refreshed_on: Day | None = None,
    problem: str | None = None,
) -> Feed:
    """The feed called *key* over its *offers*."""
    rows = tuple(offers)
    days = [row.as_of for row in rows]
    return Feed(
        provider=key[0],
        broker=key[1],
        importer=importer,
        outcome=outcome,
        offers=len(rows),
        priced_offers=sum(row.usd_per_hour is not None or row.spot_usd_per_hour is not None for row in rows),
        oldest_as_of=min(days, default=None),
        newest_as_of=max(days, default=None),
        refreshed_on=refreshed_on,
        problem=problem,
    )


def key_of(row: Offer | Feed) -> FeedKey:
    """Which feed an offer belongs to, or which a feed is."""
    return row.provider, row.broker


def by_feed(offers: Iterable[Offer]) -> dict[FeedKey, tuple[Offer, ...]]:
    """The offers of each feed, in their order; feeds by provider, its own before those of brokers."""
    rows: defaultdict[FeedKey, list[Offer]] = defaultdict(list)
    for offer in offers:
        rows[key_of(offer)].append(offer)
    return {key: tuple(rows[key]) for key in sorted(rows, key=lambda key: (key[0], key[1] or ""))}
