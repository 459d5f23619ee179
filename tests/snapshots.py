"""Small and large snapshots to publish in tests, all made of the bundled one."""

from __future__ import annotations

import datetime as dt
import functools

import msgspec

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.feed import FeedOutcome, by_feed, feed
from cardmatch.catalogue.snapshot import encode
from cardmatch.engine.money.offer import Offer


@functools.cache
def numbered(number: int) -> bytes:
    """A snapshot that differs from that of every other *number*, and from the bundled one."""
    snapshot = bundled_snapshot()
    return encode(msgspec.structs.replace(snapshot, as_of=snapshot.as_of + dt.timedelta(days=number)))


@functools.cache
def large(number: int, offers: int) -> bytes:
    """A snapshot of that many offers."""
    snapshot = bundled_snapshot()
    rows: list[Offer] = []
    while len(rows) < offers:
        copies = (msgspec.structs.replace(offer, id=f"{offer.id}/{number}-{len(rows)}") for offer in snapshot.offers)
        rows += list(copies)[: offers - len(rows)]
    rows.sort(key=lambda offer: offer.id)
    feeds = (feed(key, each, importer="test", outcome=FeedOutcome.FRESH) for key, each in by_feed(rows).items())
    return encode(msgspec.structs.replace(snapshot, offers=tuple(rows), feeds=tuple(feeds)))
