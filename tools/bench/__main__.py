"""`make bench`: measures in one run and compares with the marks; status 1 where one is missed.

Times are CPU times, best of many short rounds for what runs here, medians of alternating windows for servers, because
other work on the machine only ever adds. Figures compare within one run, not between machines.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tools import document_bench
from tools.bench import startup
from tools.bench.questions import COST, ESTIMATE, RECOMMEND, SWEEP, TRAINING, Question
from tools.bench.server import Server, drive, serving

WINDOWS = 16
WINDOW_SECONDS = 0.4
MIB = 1 << 20


class Row(msgspec.Struct, frozen=True):
    """One measured figure beside its mark; without a mark it is only told."""

    name: str
    figure: float
    unit: str
    mark: float | None = None

    @property
    def held(self) -> bool:
        """Whether the figure is within its mark."""
        return self.mark is None or self.figure <= self.mark

    def __str__(self) -> str:
        """The row as it is printed."""
        mark = "" if self.mark is None else f"mark ≤ {self.mark:g} {self.unit}"
        return f"{self.name:<46} {self.figure:>9.2f} {self.unit:<4} {mark:<18} {'' if self.held else 'MISSED'}".rstrip()


def best_microseconds(call: Callable[[], object], rounds: int = 30, calls: int = 100) -> float:
    """CPU time of one *call* in microseconds: the quickest of *rounds*, each of *calls*."""
    times = []
    for _ in range(rounds):
        started = time.process_time_ns()
        for _ in range(calls):
            call()
        times.append((time.process_time_ns() - started) / calls / 1e3)
    return min(times)


def server_microseconds(ours: Server, echo: Server, question: Question) -> tuple[float, float]:
    """CPU per request of our worker and of the echo, each the median over alternating windows."""
    figures: dict[int, list[float]] = {ours.port: [], echo.port: []}
    for window in range(WINDOWS + 1):
        for server, path in ((echo, "/"), (ours, question.path)):
            before = server.cpu_seconds()
            answered = drive(server, path, question.body, WINDOW_SECONDS)
            if window:  # the first warms caches
                figures[server.port].append((server.cpu_seconds() - before) / answered * 1e6)
    return statistics.median(figures[ours.port]), statistics.median(figures[echo.port])


def requests(question: Question) -> list[Row]:
    """The engine alone, the whole answer, and the server beside an echo of the same body."""
    engine = best_microseconds(question.engine)
    with (
        serving("tools.bench.echo:app", factory=False) as echo,
        serving("cardmatch.app:create_app", factory=True) as ours,
    ):
        served, echoed = server_microseconds(ours, echo, question)
        resident = ours.resident_bytes()
    return [
        Row(f"{question.name}: engine", engine, "µs", question.engine_mark),
        Row(f"{question.name}: answer in words", best_microseconds(question.answer), "µs"),
        Row(f"{question.name}: bare echo, CPU of the server", echoed, "µs"),
        Row(f"{question.name}: CPU of the server", served, "µs"),
        Row(f"{question.name}: server / (echo + engine)", served / (echoed + engine), "×", 1.6),
        Row("resident memory of a worker", resident / MIB, "MiB", 120),
    ]


def calls(question: Question) -> list[Row]:
    """The engine alone and the whole answer, without a server."""
    return [
        Row(f"{question.name}: engine", best_microseconds(question.engine, calls=20), "µs", question.engine_mark),
        Row(f"{question.name}: answer in words", best_microseconds(question.answer, calls=20), "µs"),
    ]


def main() -> int:
    """Print every row; keep them in build/bench.json and, with --write-docs, in docs/scaling.md."""
    rows = [
        *requests(ESTIMATE),
        *calls(TRAINING),
        *calls(COST),
        *calls(SWEEP),
        *calls(RECOMMEND),
        *(Row(*row) for row in startup.rows()),
    ]
    for row in rows:
        print(row)
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps([msgspec.to_builtins(row) for row in rows], indent=2) + "\n")
    if "--write-docs" in sys.argv:
        document_bench.write()
    return 0 if all(row.held for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
