"""Refreshing the catalogue: read the sources, apply the rules, keep what was good, refuse what cannot be true."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.diff import difference
from cardmatch.catalogue.feed import Feed, FeedKey, FeedOutcome, by_feed, feed, key_of
from cardmatch.catalogue.importers.draft import Draft, Rejection
from cardmatch.catalogue.importers.files import Unreadable
from cardmatch.catalogue.importers.merge import Limits, Merged, losses, merge, with_cards, with_providers
from cardmatch.catalogue.importers.report import FeedChange, RefreshOutcome, Report, SourceFailure
from cardmatch.catalogue.importers.rules import offers_of
from cardmatch.catalogue.importers.sources import COMPLETE, Batch, Circumstances, Source, read
from cardmatch.catalogue.snapshot import Snapshot, encode, version_of
from cardmatch.catalogue.world import build
from cardmatch.engine.money.offer import Offer

Row = Draft | Rejection
Track = Callable[[Iterable[Row], str], Iterable[Row]]
"""Wraps the rows of a source to show how far it has come."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to refresh from. `complete`: own files list all that their providers have; `force`: whatever is lost."""

    sources: tuple[Source, ...]
    circumstances: Circumstances
    limits: Limits = Limits()
    complete: bool = False
    force: bool = False


class Refreshed(msgspec.Struct, frozen=True, kw_only=True):
    """The new snapshot, which is the old one where the report refuses or nothing changed, and the report."""

    snapshot: Snapshot
    report: Report


class _Read(msgspec.Struct, kw_only=True):
    """What the sources brought: rows that replace a provider's offers, and rows that add to them."""

    replacing: list[Draft] = []
    adding: list[Draft] = []
    rejections: list[Rejection] = []
    failures: list[SourceFailure] = []
    batches: list[Batch] = []
    importers: dict[FeedKey, str] = {}
    rows: int = 0


def untracked(rows: Iterable[Row], _: str) -> Iterable[Row]:
    """Shows nothing."""
    return rows


def refresh(base: Snapshot, plan: Plan, track: Track = untracked) -> Refreshed:
    """Refresh *base* by *plan*. Nothing is published here; the report says whether the result may be."""
    found = _read_all(plan, track)
    ground = with_cards(base, (card for batch in found.batches for card in batch.cards))
    today = plan.circumstances.today
    world = build(ground, version_of(encode(base)))
    replacing, left = offers_of(world, found.replacing, today)
    adding, left_too = offers_of(world, found.adding, today)
    found.rejections += [*left, *left_too]
    merged = merge(base.offers, replacing, adding, plan.limits, force=plan.force)
    refusals = () if plan.force else losses(base.offers, merged.offers, plan.limits)
    snapshot = _snapshot(ground, merged, found, today)
    return _judged(base, snapshot, merged, found, (*refusals, *problems(snapshot)))


def _read_all(plan: Plan, track: Track) -> _Read:
    found = _Read()
    for source in plan.sources:
        try:
            for batch in read(source, plan.circumstances):
                _take(found, batch, plan, track)
        except Unreadable as problem:
            found.failures.append(SourceFailure(source=f"{source.kind}:{source.location}", problem=str(problem)))
    return found


def _take(found: _Read, batch: Batch, plan: Plan, track: Track) -> None:
    """The rows of one file; a file that breaks off half-way counts for nothing."""
    rows = list(track(batch.rows, f"{batch.source.kind}:{batch.source.location}"))
    found.rows += len(rows)
    found.batches.append(batch)
    replaces = plan.complete or batch.source.kind in COMPLETE
    for row in rows:
        if isinstance(row, Rejection):
            found.rejections.append(row)
            continue
        (found.replacing if replaces else found.adding).append(row)
        found.importers[row.provider, row.broker] = str(batch.source.kind)


def _snapshot(ground: Snapshot, merged: Merged, found: _Read, today: dt.date) -> Snapshot:
    """*ground* with the merged offers, their feeds, and a row for every provider that has offers."""
    earlier = {key_of(row): row for row in ground.feeds}
    feeds = [_feed(key, rows, merged, found, earlier.get(key), today) for key, rows in by_feed(merged.offers).items()]
    providers = (provider for batch in found.batches for provider in batch.providers)
    return msgspec.structs.replace(
        with_providers(ground, providers, merged.offers),
        as_of=max(ground.as_of, *(offer.as_of for offer in merged.offers)),
        offers=merged.offers,
        feeds=tuple(feeds),
    )


def _feed(
    key: FeedKey, rows: tuple[Offer, ...], merged: Merged, found: _Read, earlier: Feed | None, today: dt.date
) -> Feed:
    """The feed as it was where the sources had nothing to say of it, kept where they fell short, else fresh."""
    if key not in merged.problems and earlier is not None:
        return earlier
    problem = merged.problems.get(key)
    if problem is not None and earlier is not None:
        return msgspec.structs.replace(earlier, outcome=FeedOutcome.KEPT, problem=problem)
    return feed(key, rows, importer=found.importers.get(key, "own"), outcome=FeedOutcome.FRESH, refreshed_on=today)


def _judged(base: Snapshot, snapshot: Snapshot, merged: Merged, found: _Read, refusals: tuple[str, ...]) -> Refreshed:
    """The result with its report; the base itself where the result is refused."""
    counts = [Counter(key_of(row) for row in offers) for offers in (base.offers, merged.offers)]
    feeds = tuple(
        FeedChange(
            provider=key[0],
            broker=key[1],
            offers_before=counts[0][key],
            offers_after=counts[1][key],
            problem=problem,
        )
        for key, problem in merged.problems.items()
    )
    before, after = version_of(encode(base)), version_of(encode(snapshot))
    outcome = _outcome(found, feeds, refusals, changed=before != after)
    kept = snapshot if outcome in {RefreshOutcome.REFRESHED, RefreshOutcome.PARTIAL} else base
    report = Report(
        outcome=outcome,
        rows_read=found.rows,
        rejections=tuple(found.rejections),
        failures=tuple(found.failures),
        feeds=feeds,
        refusals=refusals,
        difference=difference(base, snapshot),
        version_before=before,
        version_after=version_of(encode(kept)),
        offers_before=len(base.offers),
        offers_after=len(kept.offers),
        as_of=kept.as_of,
    )
    return Refreshed(snapshot=kept, report=report)


def _outcome(
    found: _Read, feeds: tuple[FeedChange, ...], refusals: tuple[str, ...], *, changed: bool
) -> RefreshOutcome:
    if found.failures and not found.batches:
        return RefreshOutcome.UNREADABLE
    if refusals:
        return RefreshOutcome.REFUSED
    if found.failures or any(change.problem is not None for change in feeds):
        return RefreshOutcome.PARTIAL
    return RefreshOutcome.REFRESHED if changed else RefreshOutcome.UNCHANGED
