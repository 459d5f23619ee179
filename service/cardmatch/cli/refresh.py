"""What `cardmatch catalogue refresh` and `validate` do: run the importers, say what happened, keep the result."""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import sys
import time
from collections.abc import Iterable, Iterator

import msgspec

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.importers.draft import Rejection
from cardmatch.catalogue.importers.merge import Limits
from cardmatch.catalogue.importers.refresh import Plan, Refreshed, Row, Track, refresh, untracked
from cardmatch.catalogue.importers.report import HARMLESS, RefreshOutcome, Report, rejected, summary
from cardmatch.catalogue.importers.sources import Circumstances
from cardmatch.catalogue.publishing import BUNDLED
from cardmatch.catalogue.shared.standing import Overtaken, Standing, Unreachable
from cardmatch.catalogue.snapshot import Snapshot
from cardmatch.cli import places

# What a CronJob sees. 0: published, or nothing to publish. docs/catalogue.md describes each.
REFUSED, FELL_SHORT, UNREADABLE, NOT_PUBLISHED, OVERTAKEN = 3, 4, 5, 6, 7
_EXAMPLES = 20


def run(arguments: argparse.Namespace) -> int:
    """Refresh, publish the snapshot or write it where asked to, and report.

    Raises SnapshotError or OSError for the base, BadSetting.
    """
    began = time.monotonic()
    base, output = places.usual(arguments.base, BUNDLED), places.usual(arguments.output, None)
    try:
        # Before anything else is read: what comes between now and the publish must not be lost.
        standing = places.look() if places.REDIS in {base, output} else None
        before = places.open_place(base, standing)
    except Unreachable as problem:
        print(f"cardmatch: {problem}", file=sys.stderr)
        return NOT_PUBLISHED
    plan = Plan(
        sources=tuple(arguments.sources),
        circumstances=_circumstances(arguments),
        limits=Limits(provider_loss=arguments.provider_loss, total_loss=arguments.total_loss),
        complete=arguments.complete,
        force=arguments.force,
    )
    done = refresh(before, plan, _track())
    if arguments.report is not None:
        arguments.report.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in done.report.rejections))
    status = _status(done.report, strict=arguments.strict)
    if output is not None and status in {0, FELL_SHORT}:
        status = _publish(done.snapshot, output, standing) or status
    _print(done, time.monotonic() - began, whole=arguments.json)
    return status


def _publish(snapshot: Snapshot, output: str, standing: Standing | None) -> int:
    """0, or the exit status that says why not."""
    try:
        places.put(snapshot, output, standing)
    except OSError as problem:
        print(f"cardmatch: not published: {problem}", file=sys.stderr)
        return NOT_PUBLISHED
    except Overtaken:
        print("cardmatch: not published: somebody else published in the meantime; run it again", file=sys.stderr)
        return OVERTAKEN
    return 0


def validate(arguments: argparse.Namespace) -> int:
    """Read the sources against the bundled snapshot and name every row that would be left out; 4 where there is one."""
    plan = Plan(sources=tuple(arguments.sources), circumstances=_circumstances(arguments), force=True)
    report = refresh(bundled_snapshot(), plan, _track()).report
    harmful = [row for row in report.rejections if row.reason not in HARMLESS]
    for row in harmful:
        print(_line(row))
    for failure in report.failures:
        print(f"{failure.source}: {failure.problem}", file=sys.stderr)
    for refusal in report.refusals:
        print(refusal, file=sys.stderr)
    print(f"{report.rows_read} rows read, {len(harmful)} left out, {len(report.rejections) - len(harmful)} not offers")
    if report.failures:
        return UNREADABLE
    return FELL_SHORT if harmful or report.refusals else 0


def _circumstances(arguments: argparse.Namespace) -> Circumstances:
    return Circumstances(today=dt.datetime.now(dt.UTC).date(), as_of=arguments.as_of, cache=arguments.cache)


def _status(report: Report, *, strict: bool) -> int:
    if report.outcome is RefreshOutcome.REFUSED:
        return REFUSED
    if report.outcome is RefreshOutcome.UNREADABLE:
        return UNREADABLE
    return FELL_SHORT if strict and report.outcome is RefreshOutcome.PARTIAL else 0


def _track() -> Track:
    """A progress bar where somebody watches."""
    return _bar if sys.stderr.isatty() else untracked


def _bar(rows: Iterable[Row], name: str) -> Iterator[Row]:
    # Imported here, because it costs more than the rest of the command line together.
    bar = importlib.import_module("tqdm").tqdm
    yield from bar(rows, desc=name[-40:], unit=" rows", leave=False)


def _print(done: Refreshed, seconds: float, *, whole: bool) -> None:
    """The whole report, or a summary: one JSON line for a log, words for a terminal."""
    if whole:
        print(msgspec.json.format(msgspec.json.encode(done.report), indent=2).decode())
    elif not sys.stdout.isatty():
        print(msgspec.json.encode(summary(done.report, seconds)).decode())
    else:
        _print_words(done.report)


def _print_words(report: Report) -> None:
    changed = report.difference
    print(
        f"{report.outcome}: {report.rows_read} rows read, {report.offers_before} → {report.offers_after} offers "
        f"({len(changed.added_offers)} new, {len(changed.removed_offers)} gone, "
        f"{len(changed.changed_prices)} prices changed)"
    )
    print(f"version {report.version_after} as of {report.as_of}")
    for reason, count in rejected(report).items():
        print(f"  left out: {count} {reason}")
    harmful = [row for row in report.rejections if row.reason not in HARMLESS]
    for row in harmful[:_EXAMPLES]:
        print(f"    {_line(row)}")
    if len(harmful) > _EXAMPLES:
        print(f"    … and {len(harmful) - _EXAMPLES} more: --report FILE lists all")
    for change in report.feeds:
        if change.problem is not None:
            print(f"  kept the last good offers of {change.provider}: {change.problem}")
    for failure in report.failures:
        print(f"  not read: {failure.source}: {failure.problem}")
    for refusal in report.refusals:
        print(f"  refused: {refusal}")


def _line(row: Rejection) -> str:
    return f"{row.place}: {row.reason}: {row.detail}"
