"""Refreshing: what is good replaces what is old, what falls short leaves it, and what cannot be true is refused."""

import datetime as dt
import pathlib
import time
from typing import Any

import msgspec
import pytest

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.feed import FeedOutcome
from cardmatch.catalogue.importers.draft import RejectReason
from cardmatch.catalogue.importers.merge import Limits
from cardmatch.catalogue.importers.refresh import Plan, Refreshed, refresh
from cardmatch.catalogue.importers.report import RefreshOutcome, summary
from cardmatch.catalogue.importers.sources import Circumstances, SourceKind, parse
from cardmatch.catalogue.snapshot import Snapshot, decode, encode

BASE = bundled_snapshot()
TODAY = dt.date(2026, 12, 1)
HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n"


def run(*sources: str, base: Snapshot = BASE, **plan: Any) -> Refreshed:
    """A refresh of the bundled snapshot on a fixed day."""
    circumstances = Circumstances(today=TODAY, as_of=TODAY, environ={})
    return refresh(base, Plan(sources=tuple(map(parse, sources)), circumstances=circumstances, **plan))


def write(path: pathlib.Path, rows: Any) -> str:
    """A source of our own format with *rows*."""
    path.write_bytes(msgspec.json.encode(rows))
    return f"own:{path}"


def row(**changes: Any) -> dict[str, Any]:
    """An offer of Acme's."""
    return {"provider": "acme", "card": "rtx-4090", "usd_per_hour": 0.5, **changes}


def cloud(folder: pathlib.Path, name: str, count: int, price: float = 1.6) -> str:
    """A SkyPilot folder in which one cloud has *count* L40S machines."""
    path = folder / name / "vms.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + "".join(f"box-{n},L40S,1,8,96,,{price},,us-east-1\n" for n in range(count)))
    return f"skypilot:{folder}"


def test_own_rows_are_added_and_the_rest_stays(tmp_path: pathlib.Path) -> None:
    """A new provider gets a bare row, a feed, and its offer; nothing else moves."""
    done = run(write(tmp_path / "a.json", [row()]))
    assert done.report.outcome is RefreshOutcome.REFRESHED
    assert done.report.difference.added_offers == ("acme/1x-rtx-4090/any/standard",)
    assert done.report.difference.removed_offers == ()
    assert done.report.difference.added_providers == ("acme",)
    (feed,) = (each for each in done.snapshot.feeds if each.provider == "acme")
    assert (feed.outcome, feed.importer, feed.refreshed_on, feed.offers) == (FeedOutcome.FRESH, "own", TODAY, 1)
    assert done.snapshot.as_of == TODAY
    assert problems(done.snapshot) == []
    assert decode(encode(done.snapshot)) == done.snapshot


def test_the_same_source_again_changes_nothing(tmp_path: pathlib.Path) -> None:
    """A CronJob that finds the same prices on the same day publishes nothing."""
    source = write(tmp_path / "a.json", [row()])
    again = run(source, base=run(source).snapshot)
    assert again.report.outcome is RefreshOutcome.UNCHANGED
    assert again.report.version_after == again.report.version_before


def test_a_price_that_moves_leaves_its_history(tmp_path: pathlib.Path) -> None:
    """The newest eight earlier prices stay with the offer, newest first."""
    base = BASE
    for day in range(1, 12):
        source = write(tmp_path / "a.json", [row(usd_per_hour=0.5 + day / 100, as_of=f"2026-11-{day:02d}")])
        base = run(source, base=base).snapshot
    (offer,) = (each for each in base.offers if each.provider == "acme")
    assert offer.usd_per_hour == 0.61
    prices = [point.usd_per_hour or 0 for point in offer.history]
    assert prices == pytest.approx([0.6, 0.59, 0.58, 0.57, 0.56, 0.55, 0.54, 0.53])
    assert offer.history[0].as_of == dt.date(2026, 11, 10)


def test_an_older_reading_never_displaces_a_newer_one(tmp_path: pathlib.Path) -> None:
    """A stale file beside a fresh catalogue is harmless."""
    newer = run(write(tmp_path / "new.json", [row(as_of="2026-11-20")])).snapshot
    older = run(write(tmp_path / "old.json", [row(usd_per_hour=0.9, as_of="2026-10-01")]), base=newer)
    assert older.report.outcome is RefreshOutcome.UNCHANGED


def test_a_reading_from_the_future_is_refused(tmp_path: pathlib.Path) -> None:
    """It would win over every later one; tomorrow is allowed, since somewhere it has begun."""
    late = run(write(tmp_path / "a.json", [row(as_of="2099-01-01")]))
    assert [rejection.reason for rejection in late.report.rejections] == [RejectReason.MALFORMED]
    assert run(write(tmp_path / "a.json", [row(as_of="2026-12-02")])).report.difference.added_offers


def test_a_catalogue_replaces_a_providers_offers_whole(tmp_path: pathlib.Path) -> None:
    """OCI's bundled offers go, the file's come; everybody else's stay."""
    count = sum(offer.provider == "oci" for offer in BASE.offers)
    done = run(cloud(tmp_path, "oci", count))
    assert done.report.outcome is RefreshOutcome.REFRESHED
    assert {offer.instance_type for offer in done.snapshot.offers if offer.provider == "oci"} == {
        f"box-{n}" for n in range(count)
    }
    assert len(done.snapshot.offers) == len(BASE.offers)


def test_a_provider_that_lost_too_much_keeps_its_last_good_offers(tmp_path: pathlib.Path) -> None:
    """Two rows where there were thirteen are a broken file, not a closed data centre."""
    before = [offer for offer in BASE.offers if offer.provider == "oci"]
    done = run(cloud(tmp_path, "oci", 2))
    assert done.report.outcome is RefreshOutcome.PARTIAL
    assert [offer for offer in done.snapshot.offers if offer.provider == "oci"] == before
    (feed,) = (each for each in done.snapshot.feeds if each.provider == "oci")
    assert (feed.outcome, feed.problem) == (FeedOutcome.KEPT, f"{len(before) - 2} of {len(before)} lost")
    forced = run(cloud(tmp_path, "oci", 2), force=True)
    assert sum(offer.provider == "oci" for offer in forced.snapshot.offers) == 2


def test_a_snapshot_that_lost_too_much_is_refused(tmp_path: pathlib.Path) -> None:
    """Each provider may lose half, but not all of them at once; the base stays as it is."""
    for name in {offer.provider for offer in BASE.offers if offer.broker is None}:
        count = sum(offer.provider == name and offer.broker is None for offer in BASE.offers)
        cloud(tmp_path, name, (count + 1) // 2)
    source = f"skypilot:{tmp_path}"
    done = run(source)
    assert done.report.outcome is RefreshOutcome.REFUSED
    assert done.snapshot == BASE
    assert any("lost" in refusal for refusal in done.report.refusals)
    assert run(source, limits=Limits(total_loss=0.9)).report.outcome is RefreshOutcome.REFRESHED
    assert run(source, force=True).report.outcome is RefreshOutcome.REFRESHED


def test_losing_the_prices_is_losing_the_offers(tmp_path: pathlib.Path) -> None:
    """A file in which every price became a question mark is refused, although every row is there."""
    rows = [
        {**msgspec.to_builtins(offer), "usd_per_hour": None, "spot_usd_per_hour": None, "price_kind": "contact"}
        for offer in BASE.offers
    ]
    for each in rows:
        each["as_of"] = "2026-12-01"
    done = run(write(tmp_path / "a.json", rows))
    assert done.report.outcome is RefreshOutcome.REFUSED
    assert "offers with a price" in done.report.refusals[0]


def test_a_source_that_cannot_be_read_spoils_no_other(tmp_path: pathlib.Path) -> None:
    """The other source is taken, and the failure is named."""
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    done = run(f"own:{broken}", write(tmp_path / "a.json", [row()]))
    assert done.report.outcome is RefreshOutcome.PARTIAL
    assert [failure.source for failure in done.report.failures] == [f"own:{broken}"]
    assert done.report.difference.added_offers


@pytest.mark.parametrize("source", ["own:/nowhere", "skypilot:/nowhere", "https://127.0.0.1:9/prices.json"])
def test_nothing_readable_is_said_so(source: str) -> None:
    """Then nothing is published and nothing changes."""
    done = run(source)
    assert done.report.outcome is RefreshOutcome.UNREADABLE
    assert done.snapshot == BASE


def test_a_file_that_breaks_off_counts_for_nothing(tmp_path: pathlib.Path) -> None:
    """Half a CSV file does not replace a provider's offers."""
    path = tmp_path / "oci" / "vms.csv"
    path.parent.mkdir()
    path.write_text(HEAD + 'box-1,L40S,1,8,96,,1.6,,us-east-1\nbox-2,L40S,1,8,96,"{open')
    done = run(f"skypilot:{tmp_path}")
    assert done.report.outcome in {RefreshOutcome.UNREADABLE, RefreshOutcome.PARTIAL}
    assert done.snapshot.offers == BASE.offers


def test_a_folder_is_all_of_its_files(tmp_path: pathlib.Path) -> None:
    """JSON, CSV and TOML side by side; other files are left alone."""
    write(tmp_path / "a.json", [row()])
    (tmp_path / "b.csv").write_text("provider,card,usd_per_hour\nbeta,l4,0.4\n")
    (tmp_path / "c.toml").write_text('[[offers]]\nprovider = "gamma"\ncard = "t4"\nusd_per_hour = 0.2\n')
    (tmp_path / "README.md").write_text("not a price list")
    assert set(run(f"own:{tmp_path}").report.difference.added_providers) == {"acme", "beta", "gamma"}


def test_an_own_file_may_bring_cards_and_providers(tmp_path: pathlib.Path) -> None:
    """A card that the catalogue lacks can be rented as soon as its row is there."""
    card = {**msgspec.to_builtins(BASE.cards[0]), "id": "rtx-9999", "name": "GeForce RTX 9999"}
    provider = {"id": "acme", "name": "Acme", "company_country": "IS", "sources": {"company_country": "its imprint"}}
    file = {"cards": [card], "providers": [provider], "offers": [row(card="geforce rtx 9999")]}
    done = run(write(tmp_path / "a.json", file))
    assert done.report.difference.added_cards == ("rtx-9999",)
    (offer,) = (each for each in done.snapshot.offers if each.provider == "acme")
    assert offer.card == "rtx-9999"
    (named,) = (each for each in done.snapshot.providers if each.id == "acme")
    assert (named.name, named.company_country) == ("Acme", "IS")


def test_a_snapshot_whose_rows_contradict_each_other_is_refused(tmp_path: pathlib.Path) -> None:
    """A provider in a country that does not exist would dangle, so nothing is published."""
    file = {"providers": [{"id": "acme", "name": "Acme", "server_countries": ["XX"]}], "offers": [row()]}
    done = run(write(tmp_path / "a.json", file), force=True)
    assert done.report.outcome is RefreshOutcome.REFUSED
    assert done.report.refusals == ("providers: acme: no country XX",)


def test_the_summary_is_one_line_with_the_figures(tmp_path: pathlib.Path) -> None:
    """What a log needs: outcome, counts, reasons, who was kept, which version."""
    line = summary(run(write(tmp_path / "a.json", [row(), row(card="nonsense")])).report, 1.23456)
    assert (line.event, line.outcome, line.added, line.rejected) == (
        "catalogue.refresh",
        RefreshOutcome.REFRESHED,
        1,
        {"unknown_card": 1},
    )
    assert b"\n" not in msgspec.json.encode(line)


def test_sources_are_named_by_kind_and_place() -> None:
    """A bare path or address is an own file."""
    assert (parse("skypilot:/a/b").kind, parse("skypilot:/a/b").location) == (SourceKind.SKYPILOT, "/a/b")
    assert parse("gpuhunt:").location == ""
    assert (parse("https://x/y.json").kind, parse("https://x/y.json").is_url) == (SourceKind.OWN, True)
    assert parse("shadeform:https://api.example/types").is_url
    assert parse("prices.csv").kind is SourceKind.OWN
    with pytest.raises(ValueError, match="empty"):
        parse("")


def test_ten_thousand_offers_take_seconds(tmp_path: pathlib.Path) -> None:
    """Ten thousand rows of a SkyPilot file cost at most five seconds of work."""
    gpu = (
        "\"{'Gpus': [{'Name': 'L40S', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 46068}}], 'TotalGpuMemoryInMiB': 46068}\""
    )
    path = tmp_path / "aws" / "vms.csv"
    path.parent.mkdir()
    rows = (f"g6e.{n}xlarge,L40S,1,8,96,{gpu},{1 + n % 100 / 100},0.9,us-east-1\n" for n in range(10_000))
    path.write_text(HEAD + "".join(rows))
    start = time.process_time()
    done = run(f"skypilot:{tmp_path}")
    assert time.process_time() - start < 5
    assert len(done.snapshot.offers) > 10_000
