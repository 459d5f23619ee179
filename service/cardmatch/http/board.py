"""One page of metrics for several workers: each writes down what it counts, and whoever is asked adds it up.

A worker writes once a second and whenever it is asked, so that no sum goes back. What a worker counted that is gone
stays in the sums: the one that takes its place takes its counts over.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec
from prometheus_client.core import Metric

WRITE_SECONDS = 1.0
_SUFFIX = ".metrics"
# Of the rest of the gauges the largest is told: the age of the older snapshot, a state that any worker is in.
_SUMMED_GAUGES = frozenset({
    "cardmatch_requests_in_flight", "process_resident_memory_bytes", "process_virtual_memory_bytes",
    "process_open_fds", "process_max_fds",
})  # fmt: skip
_LEAST_GAUGES = frozenset({"process_start_time_seconds", "cardmatch_catalogue_published_timestamp_seconds"})
Labels = tuple[tuple[str, str], ...]


class Collector(Protocol):
    """Whoever has figures to tell when they are asked for."""

    def collect(self) -> Iterable[Metric]:
        """The figures as they are now."""
        ...


class Family(msgspec.Struct, array_like=True):
    """A metric as it is written down: samples by their names and labels, in the order of the page."""

    name: str
    about: str
    kind: str
    samples: list[tuple[str, Labels, float]]


class Board:
    """The figures of *own* and of every other worker that writes into *folder*."""

    def __init__(self, folder: Path, own: Collector) -> None:
        """Take over what a worker counted that is gone, if nobody has."""
        self._folder, self._own = folder, own
        self._path = folder / f"{os.getpid()}{_SUFFIX}"
        self._before = self._inherited()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write down while the block runs, and once more at its end."""
        task = asyncio.create_task(self._write_forever())
        try:
            yield
        finally:
            task.cancel()
            self._write()

    def collect(self) -> Iterator[Metric]:
        """The sums as they are now."""
        mine = self._write()
        others = [(each, _alive(path)) for path in self._files() if path != self._path and (each := _read(path))]
        for family in added([(mine, True), *others]):
            metric = Metric(family.name, family.about, family.kind)
            for name, labels, value in family.samples:
                metric.add_sample(name, dict(labels), value)
            yield metric

    def _write(self) -> list[Family]:
        """What is counted here, which goes into our file too; where there is no room for it the old one stays."""
        families = added([(_written(self._own.collect()), True), (self._before, False)])
        beside = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):
            beside.write_bytes(msgspec.msgpack.encode(families))
            beside.replace(self._path)
        return families

    async def _write_forever(self) -> None:
        while True:
            self._write()
            await asyncio.sleep(WRITE_SECONDS)

    def _inherited(self) -> list[Family]:
        """The file of one worker that is gone becomes ours; a rename, so that nobody else gets it too."""
        for path in self._files():
            if not _alive(path):
                with contextlib.suppress(OSError):
                    path.rename(self._path)
                    return _read(self._path)
        return []

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob(f"*{_SUFFIX}"))


def added(several: Iterable[tuple[list[Family], bool]]) -> list[Family]:
    """The families of *several* workers in one; of those that are gone (False) only what is counted up."""
    sums: dict[str, tuple[Family, dict[tuple[str, Labels], float]]] = {}
    for families, alive in several:
        for family in families:
            if not alive and family.kind == "gauge":
                continue
            _, samples = sums.setdefault(family.name, (family, {}))
            for name, labels, value in family.samples:
                known = samples.get((name, labels))
                samples[name, labels] = value if known is None else _together(family, known, value)
    return [
        Family(family.name, family.about, family.kind, [(*key, value) for key, value in samples.items()])
        for family, samples in sums.values()
    ]


def _together(family: Family, one: float, other: float) -> float:
    if family.kind != "gauge" or family.name in _SUMMED_GAUGES:
        return one + other
    return min(one, other) if family.name in _LEAST_GAUGES else max(one, other)


def _written(metrics: Iterable[Metric]) -> list[Family]:
    return [
        Family(
            it.name,
            it.documentation,
            it.type,
            [(each.name, (*each.labels.items(),), each.value) for each in it.samples],
        )
        for it in metrics
    ]


def _read(path: Path) -> list[Family]:
    """What lies in *path*; nothing where it is gone or was not written by us."""
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=list[Family])
    except (OSError, msgspec.DecodeError):
        return []


def _alive(path: Path) -> bool:
    try:
        os.kill(int(path.stem), 0)
    except (OSError, ValueError):
        return False
    return True
