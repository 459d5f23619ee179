"""`cardmatch cost`: a table for people, JSON for programs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cardmatch.cli import main

SHORT = [
    "cost", "--option", "slow=rtx-4090:1@1", "--option", "fast=2@3", "--units", "10.8k", "--unit", "item",
    "--language", "en", "--priced-on", "2026-11-30",
]  # fmt: skip


def test_the_table_ranks_by_what_the_work_costs(capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the price and three times as fast comes first, and the summary says who would win by the hour."""
    assert main(SHORT) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.strip().startswith(("slow", "fast"))]
    assert [row[0] for row in rows if len(row) > 4 and row[1] in {"1.00", "2.00"}] == ["fast", "slow"]
    assert "By the hour, slow would be the cheapest." in out


def test_a_request_in_a_file_may_be_completed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is posted can be asked here, with options added in short; --json prints the answer of the API."""
    request = {"options": [], "work": {"kind": "job", "unit": "item", "units": 3600}}
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    assert main(["cost", str(path), "--option", "a=1@1", "--out-gb", "5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rank_by_cost"] == ["a"]
    assert answer["options"][0]["notices"][0]["code"] == "egress_price_unknown"


def test_a_service_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    """A load that is busy half of the time, compared with buying."""
    arguments = ["cost", "--option", "a=h100-sxm-80:2.69@100", "--busy", "0.5", "--compare-buying", "--json"]
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["options"][0]["usd_per_month"] == pytest.approx(2.69 * 730)
    assert round(answer["options"][0]["break_even"]["buy"]["utilisation"], 2) == 0.57


def test_a_predicted_rate_a_sweep_and_euros_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    """Pictures of SDXL, the total in euros too, and again at twice the price."""
    arguments = [
        "cost", "--option", "xl=rtx-4090:0.4@model:sdxl", "--unit", "image", "--units", "10k", "--language", "en",
        "--sweep", "usd_per_hour=0.4,0.8", "--currency", "EUR=1.25", "--deadline-hours", "1000",
    ]  # fmt: skip
    assert main(arguments) == 0
    out = capsys.readouterr().out
    (total,) = [line.split()[3] for line in out.splitlines() if line.split()[:2] == ["xl", "0.40"]]
    assert f"xl: {float(total) / 1.25:.2f} EUR" in out
    swept = [line.split() for line in out.splitlines() if line.split()[:1] in (["0.4"], ["0.8"])]
    assert float(swept[1][1]) == pytest.approx(2 * float(swept[0][1]), abs=0.01)


def test_bad_input_is_said_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Faults go to the error stream with their pointer; the status is 2."""
    assert main(["cost", "--option", "a=acme/box@1", "--units", "1", "--language", "es"]) == 2
    assert "/options/0/price/offer: " in capsys.readouterr().err
    assert main(["cost", str(tmp_path / "missing.json")]) == 2
    assert main(["cost", "--option", "a=1@1"]) == 2
    assert "units" in capsys.readouterr().err


def test_the_command_of_the_readme_answers_as_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a reader pastes gives what a reader is shown."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    command = readme.partition("cardmatch cost ")[2].partition("```")[0].replace("\\\n", " ")
    shown = readme.partition("> h100 does ")[2].partition("\n\n")[0]
    assert main(["cost", *shlex.split(command), "--language", "en"]) == 0
    assert f"h100 does {' '.join(shown.replace('>', ' ').split())}" in capsys.readouterr().out
