"""What a refresh did: one struct for machines, from which the command line makes its table and its summary line."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import msgspec

from cardmatch.catalogue.diff import Difference
from cardmatch.catalogue.importers.draft import Rejection, RejectReason
from cardmatch.engine.money.amounts import Day

# Rows that were never meant to be offers, or whose offer is there already.
HARMLESS = frozenset({RejectReason.NO_GPU, RejectReason.DUPLICATE})


class RefreshOutcome(StrEnum):
    """How a refresh ended; the command line turns each into an exit status."""

    REFRESHED = "refreshed"
    UNCHANGED = "unchanged"
    PARTIAL = "partial"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


class SourceFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A source that could not be read, wholly or in part."""

    source: str
    problem: str


class FeedChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one feed that the sources had rows for."""

    provider: str
    broker: str | None
    offers_before: int
    offers_after: int
    problem: str | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of a refresh. `rejections` are all rows left out; `refusals` say why nothing is published."""

    outcome: RefreshOutcome
    rows_read: int
    rejections: tuple[Rejection, ...]
    failures: tuple[SourceFailure, ...]
    feeds: tuple[FeedChange, ...]
    refusals: tuple[str, ...]
    difference: Difference
    version_before: str
    version_after: str
    offers_before: int
    offers_after: int
    as_of: Day


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A report in one line of a log."""

    event: str
    outcome: RefreshOutcome
    rows_read: int
    offers_before: int
    offers_after: int
    added: int
    removed: int
    price_changes: int
    rejected: dict[str, int]
    kept_providers: dict[str, str]
    failed_sources: dict[str, str]
    refusals: tuple[str, ...]
    version: str
    as_of: Day
    seconds: float


def summary(report: Report, seconds: float) -> Summary:
    """*report* in one line."""
    return Summary(
        event="catalogue.refresh",
        outcome=report.outcome,
        rows_read=report.rows_read,
        offers_before=report.offers_before,
        offers_after=report.offers_after,
        added=len(report.difference.added_offers),
        removed=len(report.difference.removed_offers),
        price_changes=len(report.difference.changed_prices),
        rejected=rejected(report),
        kept_providers={change.provider: change.problem for change in report.feeds if change.problem is not None},
        failed_sources={failure.source: failure.problem for failure in report.failures},
        refusals=report.refusals,
        version=report.version_after,
        as_of=report.as_of,
        seconds=round(seconds, 3),
    )


def rejected(report: Report) -> dict[str, int]:
    """Rows left out by reason, the commonest first."""
    return {str(reason): count for reason, count in Counter(row.reason for row in report.rejections).most_common()}
