"""Fill the tables of docs/scaling.md in from what `make bench` measured (build/bench.json)."""

from __future__ import annotations

import datetime as dt
import json
import math
import platform
import re
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scaling.md"
BUSY = 0.6
SIZES = (10, 100, 1_000, 10_000)
ESTIMATE = "estimate over four cards"
MIX = {ESTIMATE: 0.8, "cost of ten options": 0.1, "recommend over the catalogue": 0.1}
_SERVED, _ANSWERED, _MEMORY = ": CPU of the server", ": answer in words", "resident memory of a worker"
_BESIDE = (
    ": bare echo",
    ": engine on a server, mean",
    _SERVED,
    ": server / (echo + engine)",
    ": engine in a loop, mean",
)


class Measured(msgspec.Struct, frozen=True):
    """CPU of one request by question, microseconds, and memory of a worker, MiB; when, and on what.

    *beside* has the figures of `_BESIDE` for questions that a server was asked.
    """

    microseconds: dict[str, float]
    beside: dict[str, list[float]]
    worker_mib: float
    conditions: str


def measured(rows: dict[str, float], conditions: str) -> Measured:
    """From the figures of a run by their names. Where no server was asked, its part of the estimate is added."""
    door = rows[ESTIMATE + _SERVED] - rows[ESTIMATE + _ANSWERED]
    answers = {name.removesuffix(_ANSWERED): each for name, each in rows.items() if name.endswith(_ANSWERED)}
    cpu = {name: rows.get(name + _SERVED, each + door) for name, each in answers.items()}
    beside = {name: [rows[name + each] for each in _BESIDE] for name in answers if name + _SERVED in rows}
    return Measured(cpu, beside, rows[_MEMORY], conditions)


def filled(page: str, run: Measured) -> str:
    """*page* with its tables and the line on the conditions from *run*."""
    page = _table(page, "| question |", [_question(name, each) for name, each in run.microseconds.items()])
    page = _table(page, "| request |", [_beside(name, *each) for name, each in run.beside.items()])
    page = _table(page, "| requests/s |", [_size(each, run) for each in SIZES])
    page = re.sub(r"(?m)^Waiting: .*$", _waiting(run), page)
    return re.sub(r"(?m)^Measured: .*$", f"Measured: {run.conditions}.", page)


def _waiting(run: Measured) -> str:
    """By Pollaczek and Khinchine for requests that come at random: ρ E[S²] / (2 (1 - ρ) E[S])."""
    mean = sum(share * run.microseconds[name] for name, share in MIX.items())
    square = sum(share * run.microseconds[name] ** 2 for name, share in MIX.items())
    milliseconds = BUSY * square / (2 * (1 - BUSY) * mean) / 1e3
    return f"Waiting: {milliseconds:.1f} ms on average at that load, mostly for a recommendation."


def _question(name: str, microseconds: float) -> str:
    return f"| {name} | {microseconds:,.0f} µs | {_two_digits(1e6 / microseconds):,} |"


def _beside(name: str, echo: float, engine: float, served: float, ratio: float, alone: float) -> str:
    return f"| {name} | {echo:,.0f} µs | {engine:,.0f} µs | {served:,.0f} µs | {ratio:.2f} | {alone:,.0f} µs |"


def _size(requests: int, run: Measured) -> str:
    mean = sum(run.microseconds[name] * share for name, share in MIX.items())
    cores = math.ceil(requests * mean / 1e6 / BUSY)
    return f"| {requests:,} | {cores:,} | {cores * run.worker_mib:,.0f} MiB |"


def _two_digits(figure: float) -> int:
    """As precise as such a measurement is."""
    return int(float(f"{figure:.2g}"))


def _table(page: str, head: str, rows: list[str]) -> str:
    """*page* with *rows* under the table whose head begins with *head*."""
    pattern = re.compile(rf"(?m)(^{re.escape(head)}[^\n]*\n\| ---[^\n]*\n)(?:\|[^\n]*\n)*")
    return pattern.sub(lambda match: match[1] + "".join(f"{row}\n" for row in rows), page, count=1)


def _conditions() -> str:
    names = re.findall(r"(?m)^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    processor = names[0] if names else platform.machine()
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, {processor}, Python {platform.python_version()}"


def write() -> None:
    """Write the page from the last run."""
    rows = json.loads((ROOT / "build" / "bench.json").read_text(encoding="utf-8"))
    run = measured({row["name"]: row["figure"] for row in rows}, _conditions())
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), run), encoding="utf-8")


if __name__ == "__main__":
    write()
