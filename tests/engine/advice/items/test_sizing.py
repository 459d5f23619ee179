"""Copies for pictures, texts and recordings, beside what can be counted by hand or drawn by lot."""

from __future__ import annotations

import heapq
import random

import pytest

from cardmatch.engine.advice.choice import Broken
from cardmatch.engine.advice.items.sizing import Batch, Batches, sized
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.sizing import Sized
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.band import Basis

BUSY = 0.8


def pictures(seconds: float) -> Batches:
    """One picture at a time."""
    return lambda size: Batch(size, seconds * size, 0.8, 1.25, Basis.CALIBRATED, 0.0)


def texts(size: int) -> Batch:
    """A millisecond a batch and a millisecond a text."""
    return Batch(size, 0.001 + 0.001 * size, 0.5, 2.0, Basis.EXTRAPOLATED, 0.0)


def demand(
    *,
    users: int | None = None,
    rate: float | None = None,
    items: float | None = None,
    hours: float | None = None,
    latency: float | None = None,
    tenants: int = 1,
) -> Demand:
    """A demand of one sort."""
    return Demand(
        prompt_tokens=1,
        output_tokens=1,
        longest_output_tokens=1,
        concurrency=users,
        peak_rate=rate,
        mean_rate=rate,
        ttft_seconds=None,
        tpot_seconds=None,
        latency_seconds=latency,
        items=items,
        deadline_hours=hours,
        tenants=tenants,
        stated=True,
        unit=WorkUnit.IMAGE,
    )


def copies(asked: Demand, batches: Batches, largest: int = 1) -> Sized:
    """What *asked* takes, where it can be had."""
    found = sized(asked, batches, largest, BUSY)
    assert isinstance(found, Sized)
    return found


def test_a_job_takes_as_many_copies_as_whole_pictures_call_for() -> None:
    """Ten pictures of 10 s, 12.5 s at the slow end, in 30 s: two each, so five copies; in an hour one."""
    assert copies(demand(items=10, hours=30 / 3600), pictures(10)).copies == 5
    assert copies(demand(items=10, hours=1), pictures(10)).copies == 1


def test_a_deadline_shorter_than_one_picture_is_out_of_reach() -> None:
    """However many copies there are."""
    found = sized(demand(items=1, hours=12 / 3600), pictures(10), 1, BUSY)
    assert isinstance(found, Broken)
    assert found.field == "deadline_hours"
    assert found.value == pytest.approx(12.5 / 3600)


def test_a_rate_leaves_copies_idle_for_a_fifth_of_the_time() -> None:
    """One picture a second at 4 s each: four would be always busy, five are so for four fifths."""
    assert copies(demand(rate=1), pictures(4)).copies == 5


def test_a_latency_takes_more_copies_than_the_rate() -> None:
    """Nobody waits long where more copies are idle; what one alone does not reach nobody does."""
    free, bound = copies(demand(rate=1), pictures(4)), copies(demand(rate=1, latency=4.2), pictures(4))
    assert bound.copies > free.copies
    assert isinstance(sized(demand(rate=1, latency=3.9), pictures(4), 1, BUSY), Broken)


def test_users_who_ask_again_share_copies_in_turns() -> None:
    """Eight users of a 4 s picture within 10 s: two turns a copy, so four copies; without a limit one."""
    found = copies(demand(users=8, latency=10), pictures(4))
    assert found.copies == 4
    assert found.now is not None
    assert found.now.ttft_seconds == 8
    alone = copies(demand(users=8), pictures(4))
    assert (alone.copies, alone.now.ttft_seconds if alone.now else 0) == (1, 32)


def test_batches_of_texts_are_as_large_as_the_latency_allows() -> None:
    """Within 20 ms a text waits for a batch and goes in the next: 9 ms a batch at most."""
    quick, free = copies(demand(rate=100, latency=0.02), texts, 32), copies(demand(rate=100), texts, 32)
    assert free.most_at_once == 32
    assert 1 <= quick.most_at_once <= 9


def test_tenants_have_copies_of_their_own() -> None:
    """Three of them, whatever each needs."""
    assert copies(demand(rate=1, tenants=3), pictures(4)).copies == 15


@pytest.mark.parametrize("rate", [0.15, 0.8, 2.5])
def test_the_wait_is_that_of_a_simulated_queue(rate: float) -> None:
    """Arrivals at random at copies that each take 4 s: the latency that is called met is met by 95 in 100."""
    found = copies(demand(rate=rate, latency=7), pictures(4))
    lot, free, waits, now = random.Random(7), [0.0] * found.copies, [], 0.0
    for _ in range(20_000):
        now += lot.expovariate(rate)
        start = max(now, heapq.heappop(free))
        heapq.heappush(free, start + 4)
        waits.append(start + 4 - now)
    late = sorted(waits)[int(0.95 * len(waits))]
    assert late <= 7 * 1.1, (found.copies, late)
