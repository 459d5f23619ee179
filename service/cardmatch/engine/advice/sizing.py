"""How many copies of the model a load takes, and how fast each request then is."""

from __future__ import annotations

import math
from typing import NamedTuple

from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.pace import Curve, Served

_SETTLED = 4
"""Rounds of Little's law; requests at once change by under one in a hundred after the third."""

SLOWEST = 1e-12


class Sized(NamedTuple):
    """Copies for all tenants, requests at once in each at the load, how that goes, and the most that each could do.

    Without a speed (`now` is null) a load by rate counts one copy, because nobody knows how many it takes.
    """

    copies: int
    batch: float
    now: Served | None
    most: Served | None
    most_at_once: int


def sized(demand: Demand, curve: Curve | None, at_once: int, busy_share: float) -> Sized | None:
    """The fewest copies that carry *demand*, each holding *at_once* requests; None where even one is too slow."""
    wanted = at_once if demand.concurrency is None else min(at_once, demand.concurrency)
    if curve is None:
        return _by_memory(demand, wanted)
    most = _most_within(curve, demand, wanted)
    if not most:
        return None
    best = curve(most)
    if demand.concurrency is not None:
        copies = math.ceil(demand.concurrency / most)
        batch = demand.concurrency / copies
        return Sized(copies * demand.tenants, batch, curve(batch), best, most)
    if demand.peak_rate is not None:
        copies = max(1, math.ceil(demand.peak_rate / max(best.requests_per_second * busy_share, SLOWEST)))
        batch = _at_rate(curve, demand, demand.peak_rate / copies, most)
        return Sized(copies * demand.tenants, batch, curve(batch), best, most)
    copies = 1
    if demand.items is not None and demand.deadline_hours is not None:
        slow = best.requests_per_second * best.low_ratio
        copies = max(1, math.ceil(demand.items / max(slow * demand.deadline_hours * 3600, SLOWEST)))
    return Sized(copies * demand.tenants, most, best, best, most)


def _by_memory(demand: Demand, at_once: int) -> Sized:
    copies = 1 if demand.concurrency is None else math.ceil(demand.concurrency / at_once)
    batch = at_once if demand.concurrency is None else demand.concurrency / copies
    return Sized(copies * demand.tenants, batch, None, None, at_once)


def request_seconds(served: Served, tokens: int) -> float:
    """From a request's arrival in the batch to its last of *tokens*."""
    return served.ttft_seconds + max(tokens - 1, 0) * served.tpot_seconds


def quick_enough(served: Served, demand: Demand) -> bool:
    """Whether every limit of *demand* is met."""
    return strain(served, demand) <= 1


def strain(served: Served, demand: Demand) -> float:
    """The slowest figure over its limit; it grows with the requests at once."""
    found = 0.0
    if demand.ttft_seconds is not None:
        found = served.ttft_seconds / demand.ttft_seconds
    if demand.tpot_seconds is not None:
        found = max(found, served.tpot_seconds / demand.tpot_seconds)
    if demand.latency_seconds is not None:
        found = max(found, request_seconds(served, demand.longest_output_tokens) / demand.latency_seconds)
    return found


def _most_within(curve: Curve, demand: Demand, at_once: int) -> int:
    """The most requests at once that are all answered in time; 0 where one alone is not.

    Times grow almost in proportion to the requests, so each guess lies on the line between the bracket's ends.
    """
    at_high = strain(curve(at_once), demand)
    if at_high <= 1:
        return at_once
    at_low = strain(curve(1), demand)
    if at_low > 1:
        return 0
    low, high, halve = 1, at_once, False
    while high - low > 1:
        guess = (low + high) // 2 if halve else low + int((high - low) * (1 - at_low) / (at_high - at_low))
        guess = min(max(guess, low + 1), high - 1)
        found = strain(curve(guess), demand)
        halve = min(guess - low, high - guess) > 1 and not halve
        if found <= 1:
            low, at_low = guess, found
        else:
            high, at_high = guess, found
    return low


def _at_rate(curve: Curve, demand: Demand, rate: float, most: int) -> float:
    """Requests at once where *rate* arrive each second: Little's law, between one and *most*."""
    batch = 1.0
    for _ in range(_SETTLED):
        seconds = request_seconds(curve(batch), demand.output_tokens)
        batch = min(max(rate * seconds, 1.0), float(most))
    return batch
