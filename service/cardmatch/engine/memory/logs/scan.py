"""Looking for figures in a log: which lines, which numbers, in which unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from cardmatch.engine.terms.units import GIB, MIB

UNITS = {"GIB": GIB, "GB": GIB, "MIB": MIB, "MB": MIB, "KIB": 1024, "B": 1, "BYTES": 1}
"""Engines write GB and mean 2^30."""


class Line(msgspec.Struct, frozen=True):
    """A figure's *name*, the *pattern* whose group gives it, its unit in bytes (or 1), and which of several counts."""

    name: str
    pattern: re.Pattern[str]
    unit: float = 1
    pick: Callable[[list[float]], float] = max


def lines_with(text: str, needles: Iterable[str]) -> Iterator[str]:
    """The lines of *text* in which any of *needles* stands."""
    wanted = tuple(needles)
    for line in text.splitlines():
        if any(needle in line for needle in wanted):
            yield line


def figures(text: str, lines: Iterable[Line]) -> dict[str, float]:
    """Every figure of *lines* that *text* has."""
    found: dict[str, float] = {}
    for line in lines:
        values = [number(match[1]) * line.unit for match in line.pattern.finditer(text)]
        if values:
            found[line.name] = line.pick(values)
    return found


def number(written: str) -> float:
    """A number with or without separators of thousands."""
    return float(written.replace(",", ""))


def size(written: str, unit: str) -> int:
    """Bytes of a figure in *unit*, as engines write units."""
    return int(number(written) * UNITS[unit.upper()])


def first(text: str, pattern: re.Pattern[str]) -> str | None:
    """The first group of the first match."""
    match = pattern.search(text)
    return match[1] if match else None
