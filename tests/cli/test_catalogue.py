"""`cardmatch catalogue`: exit statuses for a CronJob, one line for a log, words for a person."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cardmatch.catalogue.world import bundled, load
from cardmatch.cli import main

GOOD = '[{"provider": "acme", "card": "rtx-4090", "usd_per_hour": 0.5}]'


def run(*arguments: str | Path) -> int:
    """The exit status of `cardmatch catalogue …`."""
    return main(["catalogue", *map(str, arguments)])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A file with one good offer."""
    path = tmp_path / "good.json"
    path.write_text(GOOD)
    return path


def line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one line on standard output."""
    (printed,) = capsys.readouterr().out.splitlines()
    summary: dict[str, Any] = msgspec.json.decode(printed)
    return summary


def test_a_refresh_writes_a_snapshot_that_can_be_served(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is the canonical bytes, named in the summary by their hash."""
    output = tmp_path / "out" / "snapshot"
    assert run("refresh", "--from", good, "--output", output) == 0
    world = load(output.read_bytes())
    assert "acme/1x-rtx-4090/any/standard" in world.offers
    summary = line(capsys)
    assert (summary["event"], summary["outcome"], summary["added"]) == ("catalogue.refresh", "refreshed", 1)
    assert summary["version"] == world.version
    assert [path.name for path in output.parent.iterdir()] == ["snapshot"]


def test_a_second_refresh_builds_on_the_first(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--base` takes the snapshot that was written; with nothing new, nothing changes."""
    output = tmp_path / "snapshot"
    assert run("refresh", "--from", good, "--output", output) == 0
    line(capsys)
    assert run("refresh", "--from", good, "--base", output, "--output", output) == 0
    assert line(capsys)["outcome"] == "unchanged"


def test_every_row_left_out_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--report` writes one line a row; the summary counts them by reason."""
    source, report = tmp_path / "a.json", tmp_path / "report.jsonl"
    source.write_text('[{"provider": "a", "card": "nonsense", "usd_per_hour": 1}, {"provider": "a"}]')
    assert run("refresh", "--from", source, "--report", report) == 0
    rows = [msgspec.json.decode(row) for row in report.read_bytes().splitlines()]
    assert [row["reason"] for row in rows] == ["unknown_card", "unknown_card"]
    assert line(capsys)["rejected"] == {"unknown_card": 2}


def oci(tmp_path: Path, rows: int) -> Path:
    """A SkyPilot folder whose only cloud shrank to *rows*."""
    path = tmp_path / "sky" / "oci" / "vms.csv"
    path.parent.mkdir(parents=True)
    head = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n"
    path.write_text(head + "".join(f"box-{n},L40S,1,8,96,,1.6,,us-ashburn-1\n" for n in range(rows)))
    return path.parent.parent


def test_a_shrunken_provider_is_kept_and_strict_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 by default, since the rest is published; 4 with --strict."""
    source = oci(tmp_path, 1)
    assert run("refresh", "--from", f"skypilot:{source}") == 0
    assert line(capsys)["kept_providers"] == {"oci": "12 of 13 lost"}
    assert run("refresh", "--from", f"skypilot:{source}", "--strict") == 4


def test_a_snapshot_that_lost_too_much_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """3, and the old file stays; --force overrides."""
    source, output = oci(tmp_path, 1), tmp_path / "snapshot"
    limits = ("--max-provider-loss", "1", "--max-total-loss", "0.01")
    assert run("refresh", "--from", f"skypilot:{source}", "--output", output, *limits) == 3
    assert not output.exists()
    assert line(capsys)["outcome"] == "refused"
    assert run("refresh", "--from", f"skypilot:{source}", "--output", output, *limits, "--force") == 0
    assert output.exists()


def test_an_unreadable_source_is_a_status_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """5, with the reason in the summary."""
    assert run("refresh", "--from", tmp_path / "nothing.json") == 5
    assert "no such file" in next(iter(line(capsys)["failed_sources"].values()))


def test_a_place_that_cannot_be_written_is_a_status_of_its_own(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """6: the prices are good, but nobody got them."""
    (tmp_path / "file").write_text("")
    assert run("refresh", "--from", good, "--output", tmp_path / "file" / "snapshot") == 6
    assert "not published" in capsys.readouterr().err


def test_a_base_that_is_no_snapshot_is_bad_input(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2, with the name of the file."""
    assert run("refresh", "--from", good, "--base", good) == 2
    assert "not a snapshot" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["refresh"], ["refresh", "--from", ""], ["diff", "bundled"]])
def test_bad_usage_is_refused(arguments: list[str]) -> None:
    """2, as argparse has it."""
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 2


def test_validate_names_every_bad_row(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 for a clean file, 4 with a line for each row otherwise, 5 where it cannot be read."""
    assert run("validate", good) == 0
    bad = tmp_path / "bad.csv"
    bad.write_text("provider,card,usd_per_hour\na,rtx-4o90,1\na,l4,0\n")
    capsys.readouterr()
    assert run("validate", bad) == 4
    printed = capsys.readouterr().out
    assert "bad.csv#0: unknown_card: rtx-4o90" in printed
    assert "bad.csv#1: no_price" in printed
    assert run("validate", tmp_path / "nothing") == 5


def test_show_tells_the_age_of_every_providers_prices(capsys: pytest.CaptureFixture[str]) -> None:
    """Version, counts, and one row a feed."""
    assert run("show") == 0
    printed = capsys.readouterr().out
    assert bundled().version in printed
    assert "313 offers" in printed
    assert all(feed.provider in printed for feed in bundled().feeds)
    assert run("show", "--json") == 0
    assert len(msgspec.json.decode(capsys.readouterr().out)) == len(bundled().feeds)


def test_diff_names_what_came_and_what_moved(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As words and as JSON."""
    first, second = tmp_path / "first", tmp_path / "second"
    run("refresh", "--from", good, "--as-of", "2020-01-01", "--output", first)
    good.write_text(GOOD.replace("0.5", "0.6"))
    run("refresh", "--from", good, "--as-of", "2020-01-02", "--base", first, "--output", second)
    capsys.readouterr()
    assert run("diff", "bundled", second) == 0
    assert "added offers (1): acme/1x-rtx-4090/any/standard" in capsys.readouterr().out
    assert run("diff", first, second, "--json") == 0
    (change,) = msgspec.json.decode(capsys.readouterr().out)["changed_prices"]
    assert (change["before_usd_per_hour"], change["after_usd_per_hour"], change["share"]) == (0.5, 0.6, 0.2)


def test_the_whole_report_can_be_had(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints outcome, rejections, feeds and difference."""
    assert run("refresh", "--from", good, "--json") == 0
    report = msgspec.json.decode(capsys.readouterr().out)
    assert {"outcome", "rejections", "feeds", "difference", "refusals"} <= report.keys()


def test_a_person_gets_words(good: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the summary is a sentence, and a bar shows how far it has come."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run("refresh", "--from", good) == 0
    printed = capsys.readouterr()
    assert "refreshed: 1 rows read, 313 → 314 offers (1 new, 0 gone, 0 prices changed)" in printed.out
    assert "rows" in printed.err


def test_ten_thousand_offers_stay_within_memory(root: Path, tmp_path: Path) -> None:
    """The whole process, from start to written snapshot, takes at most 300 MB and five seconds of work."""
    path = tmp_path / "aws" / "vms.csv"
    path.parent.mkdir()
    head = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n"
    path.write_text(head + "".join(f"g6e.{n}xlarge,L40S,1,8,96,,{1 + n % 99 / 99},,us-east-1\n" for n in range(10_000)))
    # The peak of this program alone: ru_maxrss would count what the tests held before it was started.
    program = (
        "import re, resource, sys; from cardmatch.cli import main; status = main(sys.argv[1:]);"
        "used = resource.getrusage(resource.RUSAGE_SELF);"
        "peak = int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]);"
        "print(status, peak >> 10, used.ru_utime + used.ru_stime)"
    )
    arguments = ["catalogue", "refresh", "--from", f"skypilot:{tmp_path}", "--output", str(tmp_path / "snapshot")]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={"PYTHONPATH": str(root / "service")},
        capture_output=True,
        text=True,
        check=True,
    )
    status, mebibytes, seconds = done.stdout.splitlines()[-1].split()
    assert (status, float(mebibytes) <= 300, float(seconds) <= 5) == ("0", True, True), done.stdout


def test_a_full_disk_leaves_the_snapshot_that_was_there(root: Path, good: Path, tmp_path: Path) -> None:
    """Status 6, the old bytes whole, and nothing half written beside them; files may be 64 KiB here."""
    output = tmp_path / "out" / "snapshot"
    assert run("refresh", "--from", good, "--output", output) == 0
    before = output.read_bytes()
    assert len(before) > 1 << 17
    command = ["bash", "-c", 'ulimit -f 64; exec "$0" "$@"', sys.executable, "-m", "cardmatch.cli", "catalogue"]
    command += ["refresh", "--from", str(good), "--output", str(output)]
    environ = {**os.environ, "PYTHONPATH": str(root / "service")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "not published" in done.stderr
    assert output.read_bytes() == before
    assert [path.name for path in output.parent.iterdir()] == ["snapshot"]
