"""How many copies of the model a load takes, and how fast each request then is."""

from __future__ import annotations

import math
from typing import NamedTuple

from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.pace import Curve, Served, Waits

_SETTLED = 3
"""Rounds of Little's law, each on the line through the last two: times grow almost in proportion to the requests."""

SLOWEST = 1e-12
_HOUR = 3600


class Sized(NamedTuple):
    """Copies for all tenants, requests at once in each at the load, how that goes, and the most that each could do.

    Without a speed (`now` is null) a load by rate counts one copy, because nobody knows how many it takes.
    """

    copies: int
    batch: float
    now: Served | None
    most: Served | None
    most_at_once: int


def sized(
    demand: Demand, curve: Curve | None, at_once: int, busy_share: float, waits: Waits | None = None
) -> Sized | None:
    """The fewest copies that carry *demand*, each holding *at_once* requests; None where even one is too slow.

    Arrivals with a target for slow requests are judged by what they wait (*waits*), others by a share of the capacity.
    """
    wanted = min([at_once, *[most for most in (demand.concurrency, demand.requests) if most is not None]])
    if curve is None:
        return _by_memory(demand, wanted)
    if demand.peak_rate is not None and demand.has_target and waits is not None:
        return _by_waits(demand, demand.peak_rate, curve, at_once, waits)
    most = most_within(curve, demand, wanted)
    if not most:
        return None
    best = curve(most)
    if demand.concurrency is not None:
        copies = math.ceil(demand.concurrency / most)
        batch = demand.concurrency / copies
        return Sized(copies * demand.tenants, batch, curve(batch), best, most)
    if demand.peak_rate is not None:
        copies = copies_at_rate(demand.peak_rate, best.requests_per_second * busy_share)
        batch = _at_rate(curve, demand, demand.peak_rate / copies, most)
        return Sized(copies * demand.tenants, batch, curve(batch), best, most)
    return _by_job(demand, curve, most)


def copies_at_rate(arrivals: float, each: float) -> int:
    """Copies for *arrivals* a second, of which one takes *each*."""
    return max(1, math.ceil(arrivals / max(each, SLOWEST)))


def copies_by_deadline(demand: Demand, best: Served) -> int:
    """Copies that end a job in time even at the slow end of the *best* rate of one; one where nothing is pressing.

    There are never more of them than requests.
    """
    if demand.items is None or demand.deadline_hours is None:
        return 1
    slow = best.requests_per_second * best.low_ratio
    copies = math.ceil(demand.items / max(slow * demand.deadline_hours * _HOUR, SLOWEST))
    return min(max(1, copies), demand.requests or 1)


def job_hours(items: float, size: Sized) -> float | None:
    """The hours that *items* take all copies of *size*, at the slow end; null where nobody knows the speed."""
    if size.most is None:
        return None
    return items / (size.most.requests_per_second * size.most.low_ratio * size.copies) / _HOUR


def _by_job(demand: Demand, curve: Curve, most: int) -> Sized:
    """The fewest copies that end a job in time; where even one a request are too slow, as many as that.

    A copy with fewer requests than it could hold is no faster for those that are not there: a job takes at least as
    long as one request.
    """
    requests, deadline = demand.requests or 1, demand.deadline_hours

    def of(copies: int) -> Sized:
        share = min(most, max(1, requests // (copies * demand.tenants)))
        served = curve(share)
        return Sized(copies * demand.tenants, share, served, served, share)

    def in_time(copies: int) -> bool:
        hours = job_hours(float(requests), of(copies))
        return deadline is None or hours is None or hours <= deadline * _ROUNDED

    low, copies, step = 0, copies_by_deadline(demand, curve(most)), 1
    while copies < requests and not in_time(copies):
        low, copies, step = copies, min(copies + step, requests), 2 * step
    while low and copies - low > 1:
        middle = (low + copies) // 2
        low, copies = (low, middle) if in_time(middle) else (middle, copies)
    return of(copies)


_ROUNDED = 1 + 1e-9


def _by_memory(demand: Demand, at_once: int) -> Sized:
    copies = 1 if demand.concurrency is None else math.ceil(demand.concurrency / at_once)
    batch = at_once if demand.concurrency is None else demand.concurrency / copies
    return Sized(copies * demand.tenants, batch, None, None, at_once)


def _by_waits(demand: Demand, arrivals: float, curve: Curve, at_once: int, waits: Waits) -> Sized | None:
    """The fewest copies among which *arrivals* are shared so that nineteen in twenty requests meet every target."""
    most = most_within(curve, without_targets(demand), at_once)
    if not most or not _in_time(waits(SLOWEST, at_once), demand):
        return None
    copies = copies_at_rate(arrivals, open_rate(curve(most), demand))
    low, step = copies - 1, 1
    while not _in_time(waits(arrivals / copies, at_once), demand):
        low, copies, step = copies, copies + step, 2 * step
    while copies - low > 1:
        middle = (low + copies) // 2
        if _in_time(waits(arrivals / middle, at_once), demand):
            copies = middle
        else:
            low = middle
    now = waits(arrivals / copies, at_once)
    best = _busiest(demand, curve(most), arrivals / copies, at_once, waits)
    return None if now is None else Sized(copies * demand.tenants, now.batch, now, best, math.ceil(best.batch))


def open_rate(at_most: Served, demand: Demand) -> float:
    """Arrivals a second at which as many are in service as *at_most* has: Little's law for the decoding alone."""
    return at_most.batch / (max(demand.output_tokens, 1) * at_most.tpot_seconds)


def without_targets(demand: Demand) -> Demand:
    """*demand* with what each token may take alone: first tokens and whole requests wait differently under arrivals."""
    return demand._replace(ttft_seconds=None, latency_seconds=None)


def _in_time(found: Served | None, demand: Demand) -> bool:
    """Whether nineteen in twenty requests meet every target; None are more than can be served."""
    if found is None:
        return False
    return (
        found.ttft_p95_seconds <= (demand.ttft_seconds or math.inf)
        and found.tpot_p95_seconds <= (demand.tpot_seconds or math.inf)
        and found.request_p95_seconds <= (demand.latency_seconds or math.inf)
    )


_HALVINGS = 7
"""The busiest rate is found within a hundredth of what lies between the load and the capacity."""


def _busiest(demand: Demand, at_most: Served, arrivals: float, at_once: int, waits: Waits) -> Served:
    """One copy at the most arrivals that it serves in time, *arrivals* among them."""
    low, high = arrivals, max(open_rate(at_most, demand), arrivals)
    found = waits(low, at_once) or at_most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = waits(middle, at_once)
        if tried is not None and _in_time(tried, demand):
            low, found = middle, tried
        else:
            high = middle
    return found


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


def most_within(curve: Curve, demand: Demand, at_once: int) -> int:
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

    def come(batch: float) -> float:
        return rate * request_seconds(curve(batch), demand.output_tokens)

    last, at_last = 1.0, come(1.0)
    batch = min(max(at_last, 1.0), float(most))
    for _ in range(_SETTLED):
        found = come(batch)
        slope = (found - at_last) / (batch - last) if batch != last else 0.0
        last, at_last = batch, found
        crossed = math.inf if slope >= 1 else batch + (found - batch) / (1 - slope)
        batch = min(max(crossed, 1.0), float(most))
    return batch


def made(demand: Demand, size: Sized, now: Served, most: Served) -> tuple[float, float, float]:
    """Units per second of all copies at the load, low, expected and high.

    No more are made than come: of a load by rate it is that, and less only where the most may turn out to be.
    """
    if demand.peak_rate is None:
        rate = now.requests_per_second * size.copies
        return rate * now.low_ratio, rate, rate * now.high_ratio
    load = demand.peak_rate * demand.tenants
    return min(load, most.requests_per_second * size.copies * most.low_ratio), load, load
