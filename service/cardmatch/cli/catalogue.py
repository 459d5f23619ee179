"""`cardmatch catalogue`: bring prices in, check a source, show what is there, compare two snapshots."""

from __future__ import annotations

import argparse
import datetime as dt
import pathlib
import sys

import msgspec

from cardmatch.catalogue.diff import Difference, difference
from cardmatch.catalogue.importers.merge import Limits
from cardmatch.catalogue.importers.sources import Source, parse
from cardmatch.catalogue.publishing import BUNDLED
from cardmatch.catalogue.snapshot import Snapshot, SnapshotError, encode, version_of
from cardmatch.cli import places, refresh
from cardmatch.cli.output import BAD_INPUT, table
from cardmatch.settings import BadSetting

_LISTED = 30
_PLACE = "a file, bundled, redis, or redis:VERSION for an earlier one that Redis keeps"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One parser for each of the four."""
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    refreshing = actions.add_parser("refresh", help="bring prices in from one or several sources")
    refreshing.add_argument("--from", dest="sources", action="append", type=_source, required=True, metavar="SOURCE")
    _reading(refreshing)
    usual = "redis where CARDMATCH_REDIS_URL is set"
    refreshing.add_argument("--base", metavar="PLACE", help=f"snapshot to refresh (default: {usual}, else bundled)")
    refreshing.add_argument("--output", metavar="PLACE", help=f"where the new snapshot goes: a file, redis ({usual})")
    refreshing.add_argument("--report", type=pathlib.Path, metavar="FILE", help="every row left out, one JSON a line")
    limits = Limits()
    for name, help_ in (("provider_loss", "of one provider's offers"), ("total_loss", "of all offers")):
        option = f"--max-{name.replace('_', '-')}"
        text = f"share {help_} that may vanish (default: {getattr(limits, name)})"
        refreshing.add_argument(option, dest=name, type=_share, default=getattr(limits, name), metavar="0…1", help=text)
    refreshing.add_argument("--complete", action="store_true", help="own files list all that their providers have")
    refreshing.add_argument("--force", action="store_true", help="publish whatever was lost")
    refreshing.add_argument("--strict", action="store_true", help="exit with 4 where a provider or source fell short")
    refreshing.add_argument("--json", action="store_true", help="print the whole report")
    validating = actions.add_parser("validate", help="read sources and name every row that would be left out")
    validating.add_argument("sources", nargs="+", type=_source, metavar="SOURCE")
    _reading(validating)
    showing = actions.add_parser("show", help="what a snapshot holds, and how old its prices are")
    showing.add_argument("snapshot", nargs="?", metavar="PLACE", help=_PLACE)
    showing.add_argument("--json", action="store_true", help="print the feeds as JSON")
    comparing = actions.add_parser("diff", help="offers that came, went or changed their price")
    comparing.add_argument("before", metavar="PLACE", help=_PLACE)
    comparing.add_argument("after", metavar="PLACE")
    comparing.add_argument("--json", action="store_true", help="print the whole difference")


def run(arguments: argparse.Namespace) -> int:
    """Do what is asked; docs/catalogue.md lists the exit statuses."""
    try:
        if arguments.action == "refresh":
            return refresh.run(arguments)
        if arguments.action == "validate":
            return refresh.validate(arguments)
        if arguments.action == "show":
            place = places.usual(arguments.snapshot, BUNDLED)
            return _show(places.open_place(place), as_json=arguments.json)
        before, after = places.open_place(arguments.before), places.open_place(arguments.after)
        return _diff(before, after, as_json=arguments.json)
    except (SnapshotError, BadSetting, OSError) as problem:
        print(f"cardmatch: {problem}", file=sys.stderr)
        return BAD_INPUT


def _reading(parser: argparse.ArgumentParser) -> None:
    kinds = "own files by default, or skypilot:, gpuhunt:, shadeform: before a path or an address"
    parser.epilog = f"SOURCE is a file, a folder or an https:// address; {kinds}."
    parser.add_argument("--as-of", type=dt.date.fromisoformat, metavar="DATE", help="day on which the prices were read")
    parser.add_argument("--cache", type=pathlib.Path, metavar="DIR", help="keep what was fetched, and ask for changes")


def _source(text: str) -> Source:
    try:
        return parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError("a share lies between 0 and 1")
    return share


def _show(snapshot: Snapshot, *, as_json: bool) -> int:
    """Counts and feeds, the oldest prices first."""
    today = dt.datetime.now(dt.UTC).date()
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(snapshot.feeds), indent=2).decode())
        return 0
    feeds = sorted(snapshot.feeds, key=lambda feed: (feed.newest_as_of or dt.date.min, feed.provider))
    rows = [
        (
            feed.provider if feed.broker is None else f"{feed.provider} ({feed.broker})",
            str(feed.offers),
            str(feed.priced_offers),
            _age(feed.newest_as_of, today),
            _age(feed.oldest_as_of, today),
            feed.problem or feed.outcome,
        )
        for feed in feeds
    ]
    print(f"{version_of(encode(snapshot))} as of {snapshot.as_of}")
    print(f"{len(snapshot.cards)} cards, {len(snapshot.offers)} offers, {len(snapshot.providers)} providers\n")
    print(table(("provider", "offers", "priced", "newest", "oldest", "state"), rows, "ages in days"))
    return 0


def _age(day: dt.date | None, today: dt.date) -> str:
    return "–" if day is None else str(max((today - day).days, 0))


def _diff(before: Snapshot, after: Snapshot, *, as_json: bool) -> int:
    """The difference, as a list or whole."""
    found = difference(before, after)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return 0
    _print_ids(found)
    rows = [
        (
            change.offer,
            _usd(change.before_usd_per_hour),
            _usd(change.after_usd_per_hour),
            _usd(change.before_spot_usd_per_hour),
            _usd(change.after_spot_usd_per_hour),
            "–" if change.share is None else f"{change.share:+.1%}",
        )
        for change in found.changed_prices[:_LISTED]
    ]
    if rows:
        print(table(("offer", "before", "after", "spot before", "spot after", "change"), rows, "USD per hour"))
    print(f"{len(found.changed_prices)} prices changed")
    return 0


def _print_ids(found: Difference) -> None:
    """What came and went, as far as it fits on a screen."""
    for name in found.__struct_fields__:
        ids = getattr(found, name)
        if name != "changed_prices" and ids:
            more = f" … and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
            print(f"{name.replace('_', ' ')} ({len(ids)}): {', '.join(ids[:_LISTED])}{more}")


def _usd(price: float | None) -> str:
    return "–" if price is None else f"{price:.4g}"
