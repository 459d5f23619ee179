"""docs/scaling.md: what a core answers, and how many cores that makes."""

from __future__ import annotations

import re

import pytest

from tools.document_bench import ESTIMATE, MIX, PAGE, filled, measured

ROWS = {
    f"{ESTIMATE}: engine": 100.0,
    f"{ESTIMATE}: answer in words": 200.0,
    f"{ESTIMATE}: CPU of the server": 300.0,
    f"{ESTIMATE}: bare echo": 45.0,
    f"{ESTIMATE}: engine on a server, mean": 150.0,
    f"{ESTIMATE}: server / (echo + engine)": 1.54,
    f"{ESTIMATE}: engine in a loop, mean": 120.0,
    "cost of ten options: answer in words": 400.0,
    "recommend over the catalogue: answer in words": 6_900.0,
    "resident memory of a worker": 70.0,
}


def test_the_servers_part_is_added_to_answers_that_were_measured_without_it() -> None:
    """It is what the one question that was served took beyond its answer."""
    run = measured(ROWS, "here")
    assert run.microseconds == {
        ESTIMATE: 300.0,
        "cost of ten options": 500.0,
        "recommend over the catalogue": 7_000.0,
    }


def test_what_a_server_was_asked_is_not_pieced_together() -> None:
    """Where there is a figure of the server, it counts, and stands beside the echo and the engine."""
    name = "cost of ten options"
    more = {
        ": CPU of the server": 480.0,
        ": bare echo": 45.0,
        ": engine on a server, mean": 310.0,
        ": server / (echo + engine)": 1.352,
        ": engine in a loop, mean": 290.0,
    }
    rows = {**ROWS, **{name + row: figure for row, figure in more.items()}}
    run = measured(rows, "here")
    assert run.microseconds[name] == 480.0
    assert f"| {name} | 45 µs | 310 µs | 480 µs | 1.35 | 290 µs |" in filled(PAGE.read_text(encoding="utf-8"), run)


def test_cores_follow_from_the_mix() -> None:
    """0.8 × 300 + 0.1 × 500 + 0.1 × 7,000 µs are 0.99 ms: a thousand a second keep 0.99 cores busy, two at 60 %."""
    text = filled(PAGE.read_text(encoding="utf-8"), measured(ROWS, "here"))
    assert "| 1,000 | 2 | 140 MiB |\n| 10,000 | 17 | 1,190 MiB |" in text
    assert f"| {ESTIMATE} | 300 µs | 3,300 |" in text
    assert "Measured: here." in text


def test_the_wait_is_that_of_a_queue_with_one_server() -> None:
    """E[S²] is 4,997,000 µs², so 0.6 × 4,997,000 / (0.8 × 990) µs."""
    text = filled(PAGE.read_text(encoding="utf-8"), measured(ROWS, "here"))
    assert "Waiting: 3.8 ms" in text


def test_the_page_holds_figures_of_a_run() -> None:
    """Every question of the mix, sizes that follow from them, and what they were measured on."""
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| ([^|]+) \| ([\d,]+) µs \| [\d,]+ \|$", text))
    cpu = {name: float(figure.replace(",", "")) for name, figure in rows.items()}
    assert set(MIX) <= set(cpu)
    (size,) = re.findall(r"(?m)^\| 10,000 \| ([\d,]+) \|", text)
    busy = 10_000 * sum(cpu[name] * share for name, share in MIX.items()) / 1e6
    assert float(size.replace(",", "")) == pytest.approx(busy / 0.6, abs=1)
    assert re.search(r"(?m)^Measured: \d{4}-\d\d-\d\d, .+\.$", text)
