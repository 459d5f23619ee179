"""How many copies a load of pictures, texts or recordings takes, and how long each of them then waits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from cardmatch.engine.advice.choice import Broken
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.pace import Served
from cardmatch.engine.advice.sizing import SLOWEST, Sized
from cardmatch.engine.terms.band import Basis

LATENCY, DEADLINE = "p95_latency_seconds", "deadline_hours"
_TAIL = 0.05
_MANY = 256
"""Among so many copies, four fifths of them busy, next to nothing waits."""

_MORE = 64
_SETTLED = 3
_PATIENCE, _LONGEST = 86_400.0, 1e8
"""Seconds: a day, and three years for a single picture, beyond which there is nothing to recommend."""

_HOUR = 3600.0


class Batch(NamedTuple):
    """A batch of *size* on one copy: its seconds, and the ratios of the true rate's range to the expected one."""

    size: int
    seconds: float
    low_ratio: float
    high_ratio: float
    basis: Basis
    memory_share: float

    @property
    def rate(self) -> float:
        """Units per second, one batch after the other."""
        return self.size / max(self.seconds, SLOWEST)


Batches = Callable[[int], Batch]
"""How long a batch of so many takes: longer as it grows, and less for each of them."""


def sized(demand: Demand, batches: Batches, largest: int, busy_share: float) -> Sized | Broken:
    """The fewest copies that carry *demand* in batches of at most *largest*, or the latency that one alone takes."""
    limit, largest = demand.latency_seconds, min(largest, demand.requests or largest)
    turns = 2 if demand.peak_rate is not None and largest > 1 else 1  # a text waits for the batch before its own
    best = _within(batches, largest, (_LONGEST if limit is None else limit) / turns)
    if best is None:
        field = LATENCY if demand.items is None else DEADLINE
        return Broken(field, batches(1).seconds * (turns if field is LATENCY else 1 / _HOUR))
    if demand.concurrency is not None:
        return _closed(demand, demand.concurrency, best, batches)
    if demand.peak_rate is not None:
        return _open(demand, demand.peak_rate, best, batches, busy_share)
    if demand.items is None or demand.deadline_hours is None:
        now = _served(best, best.seconds)
        return Sized(demand.tenants, float(best.size), now, now, best.size)
    return _by(demand, demand.items, demand.deadline_hours * _HOUR, best, batches)


def _by(demand: Demand, items: float, seconds: float, best: Batch, batches: Batches) -> Sized | Broken:
    """As many copies as are done within *seconds* at the slow end: no batch is shared among them."""
    each = best if best.seconds <= seconds * best.low_ratio else batches(1)
    rounds = math.floor(seconds * each.low_ratio / each.seconds)
    if not rounds:
        return Broken(DEADLINE, each.seconds / each.low_ratio / _HOUR)
    copies = math.ceil(items / (each.size * rounds))
    now = _served(each, each.seconds)
    return Sized(copies * demand.tenants, float(each.size), now, now, each.size)


def unpaced(demand: Demand, at_once: int) -> Sized:
    """One copy a tenant, where nobody knows how fast it is."""
    return Sized(demand.tenants, float(at_once), None, None, at_once)


def _within(batches: Batches, largest: int, limit: float) -> Batch | None:
    """The largest batch that is done within *limit* seconds."""
    size = largest
    while True:
        found = batches(size)
        if found.seconds <= limit:
            return found
        if size == 1:
            return None
        size = max(1, min(size // 2, int(size * limit / found.seconds)))


def _served(batch: Batch, seconds: float) -> Served:
    """*batch* after *batch*, each unit of it *seconds* after it was asked for."""
    return Served(
        batch=float(batch.size),
        ttft_seconds=seconds,
        tpot_seconds=0.0,
        requests_per_second=batch.rate,
        low_ratio=batch.low_ratio,
        high_ratio=batch.high_ratio,
        basis=batch.basis,
        memory_share=batch.memory_share,
        compute_share=1.0 - batch.memory_share,
    )


def _closed(demand: Demand, users: int, best: Batch, batches: Batches) -> Sized | Broken:
    """*users* who each wait for theirs and then ask again: a copy goes round among as many as the latency allows.

    Without one nobody is made to wait for more than a day, if not for a single picture.
    """
    patience = _PATIENCE if demand.latency_seconds is None else demand.latency_seconds
    rounds = max(1, int(patience / best.seconds))
    copies = max(1, math.ceil(users / (best.size * rounds)))
    each = math.ceil(users / copies)
    batch = best if each >= best.size else batches(each)
    now = _served(batch, math.ceil(each / batch.size) * batch.seconds)
    return Sized(copies * demand.tenants, float(min(each, batch.size)), now, _served(best, best.seconds), best.size)


def _open(demand: Demand, rate: float, best: Batch, batches: Batches, busy_share: float) -> Sized | Broken:
    """Arrivals at *rate*: as many copies as are not too busy and, where it matters, let nobody wait too long."""
    copies = max(1, math.ceil(rate / max(best.rate * busy_share, SLOWEST)))
    most = copies + _MORE
    while demand.latency_seconds is not None and _p95(rate, copies, best) > demand.latency_seconds:
        copies += 1
        if copies > most:
            return Broken(LATENCY, best.seconds)
    batch = _usual(rate / copies, best, batches)
    now = _served(batch, batch.seconds + _mean_wait(rate, copies, batch))
    return Sized(copies * demand.tenants, float(batch.size), now, _served(best, best.seconds), best.size)


def _usual(rate: float, best: Batch, batches: Batches) -> Batch:
    """The batch that gathers while the one before it runs, by repeating b = rate × seconds(b)."""
    batch = best
    for _ in range(_SETTLED if best.size > 1 else 0):
        size = min(best.size, max(1, math.ceil(rate * batch.seconds)))
        if size == batch.size:
            break
        batch = batches(size)
    return batch


def _p95(rate: float, copies: int, best: Batch) -> float:
    """Seconds that nineteen in twenty take at most; of batches, at worst the whole of the one before."""
    if best.size > 1:
        return 2 * best.seconds
    chance, mean = _queue(rate, copies, best)
    return best.seconds + (math.log(chance / _TAIL) * mean if chance > _TAIL else 0.0)


def _mean_wait(rate: float, copies: int, batch: Batch) -> float:
    if batch.size > 1:
        return batch.seconds / 2
    chance, mean = _queue(rate, copies, batch)
    return chance * mean


def _queue(rate: float, copies: int, batch: Batch) -> tuple[float, float]:
    """The chance to wait, by Erlang's C, and the mean wait of those that do, half as long as times alike make it."""
    if copies > _MANY:
        return 0.0, 0.0
    load = rate * batch.seconds
    blocked = 1.0
    for servers in range(1, copies + 1):
        blocked = load * blocked / (servers + load * blocked)
    busy = min(load / copies, 0.999)
    return blocked / (1 - busy * (1 - blocked)), batch.seconds / (copies * (1 - busy)) / 2
