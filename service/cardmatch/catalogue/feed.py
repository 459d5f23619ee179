"""A feed: where one provider's offers came from, when they were last refreshed, and how old they are."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import groupby
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import Day, ProviderId
from cardmatch.engine.money.offer import Offer


class FeedOutcome(StrEnum):
    """Shipped with the release, taken from the last refresh, or kept because that refresh failed for the provider."""

    BUNDLED = "bundled"
    FRESH = "fresh"
    KEPT = "kept"


class Feed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider's offers: how many, how many with a price, read between which days, and by which importer."""

    provider: ProviderId
    importer: Annotated[str, Meta(min_length=1, max_length=40)]
    outcome: FeedOutcome
    offers: Annotated[int, Meta(ge=0, le=10**6)]
    priced_offers: Annotated[int, Meta(ge=0, le=10**6)]
    oldest_as_of: Day | None
    newest_as_of: Day | None
    refreshed_on: Day | None = None
    problem: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


def feed(
    provider: str,
    offers: Iterable[Offer],
    *,
    importer: str,
    outcome: FeedOutcome,
    refreshed_on: Day | None = None,
    problem: str | None = None,
) -> Feed:
    """The feed of *provider* over its *offers*."""
    rows = tuple(offers)
    days = [row.as_of for row in rows]
    return Feed(
        provider=provider,
        importer=importer,
        outcome=outcome,
        offers=len(rows),
        priced_offers=sum(row.usd_per_hour is not None or row.spot_usd_per_hour is not None for row in rows),
        oldest_as_of=min(days, default=None),
        newest_as_of=max(days, default=None),
        refreshed_on=refreshed_on,
        problem=problem,
    )


def by_provider(offers: Iterable[Offer]) -> dict[str, tuple[Offer, ...]]:
    """The offers of each provider, in their order."""
    ordered = sorted(offers, key=lambda row: row.provider)
    return {provider: tuple(rows) for provider, rows in groupby(ordered, key=lambda row: row.provider)}
