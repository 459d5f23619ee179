"""`make bench`: measures in one run and compares with the marks; status 1 where one is missed.

Times are CPU times, best of many short rounds for single calls, medians of alternating windows for servers, because
other work on the machine only ever adds. Figures compare within one run, not between machines.

What the server is held to is a mean over drawn requests, so the engine beside it is too, and runs where the server's
does (see `reckoner`): a call repeated in a loop finds its code and data in the processor's nearest cache, and one
between two requests does not. Both figures are told.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tools import document_bench
from tools.bench import startup
from tools.bench.mix import Mix, mixes
from tools.bench.questions import COST, ESTIMATE, PICTURES, RECOMMENDATIONS, SWEEP, TEXTS, TRAINING, Question
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


def mean_microseconds(calls: Sequence[Callable[[], object]], rounds: int = 5) -> float:
    """Mean CPU time of *calls*, each made once a round, in microseconds: the median of *rounds*."""
    means = []
    for _ in range(rounds):
        started = time.process_time_ns()
        for call in calls:
            call()
        means.append((time.process_time_ns() - started) / len(calls) / 1e3)
    return statistics.median(means)


def server_microseconds(servers: Sequence[Server], mix: Mix) -> list[float]:
    """Mean CPU per request of *mix* on each of *servers*: the medians over windows in which they take turns."""
    figures: list[list[float]] = [[] for _ in servers]
    turns = [itertools.cycle(mix.engines) for _ in servers]
    for window in range(WINDOWS + 1):
        for server, bodies, kept in zip(servers, turns, figures, strict=True):
            before = server.cpu_seconds()
            answered = drive(server, mix.path, bodies, WINDOW_SECONDS)
            if window:  # the first warms caches
                kept.append((server.cpu_seconds() - before) / answered * 1e6)
    return [statistics.median(kept) for kept in figures]


def requests() -> list[Row]:
    """The server beside an echo of the same bodies, and beside an echo that also asks the engine."""
    rows = []
    with (
        serving("tools.bench.echo:app", factory=False) as echo,
        serving("tools.bench.reckoner:app", factory=False) as reckoner,
        serving("cardmatch.app:create_app", factory=True) as ours,
    ):
        for mix in mixes():
            rows += served(mix, server_microseconds((echo, reckoner, ours), mix))
        resident = ours.resident_bytes()
    return [*rows, Row("resident memory of a worker", resident / MIB, "MiB", 120)]


def served(mix: Mix, figures: Sequence[float]) -> list[Row]:
    """The rows of *mix* from the *figures* of the echo, of the echo with the engine and of the service."""
    echoed, reckoned, answered = figures
    alone = mean_microseconds(list(mix.engines.values()))
    return [
        Row(f"{mix.name}: bare echo", echoed, "µs"),
        Row(f"{mix.name}: engine on a server, mean", reckoned - echoed, "µs"),
        Row(f"{mix.name}: CPU of the server", answered, "µs"),
        Row(f"{mix.name}: server / (echo + engine)", answered / reckoned, "×", 1.6),
        Row(f"{mix.name}: engine in a loop, mean", alone, "µs"),
        Row(f"{mix.name}: server / (echo + engine in a loop)", answered / (echoed + alone), "×"),
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
        *calls(ESTIMATE),
        *requests(),
        *calls(TRAINING),
        *calls(COST),
        *calls(SWEEP),
        *[row for question in RECOMMENDATIONS for row in calls(question)],
        *calls(PICTURES),
        *calls(TEXTS),
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
