"""Serving requests that arrive at random (Poisson) with continuous batching: how many run at once, and what they wait.

By Little's law N = λ · output · TPOT; prefill takes the share r = λ T_prefill of the time, which stretches steps to
T_step(N) / (1 - r). Waiting for prefills is an M/D/1 queue, waiting for one of m slots M/G/m: Erlang's C, in the
Halfin-Whitt form, times (1 + cv²) / 2 for lengths that vary. Checked against a simulation in tests/engine/speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.speed.lengths import Z95, Lengths
from cardmatch.engine.speed.pace import Pace
from cardmatch.engine.speed.shape import Shape
from cardmatch.engine.speed.step import decoding, prefill_work, timed

MOST_ITERATIONS = 60
SETTLED = 1e-3
_TAIL = 0.05


class Percentiles(NamedTuple):
    """Seconds that half and nineteen in twenty stay below."""

    p50: float
    p95: float


class Waiting(NamedTuple):
    """One copy of the model under arrivals: requests at once, times as percentiles, and the share of its capacity."""

    batch: float
    ttft: Percentiles
    tpot: Percentiles
    latency: Percentiles


class Queue(NamedTuple):
    """What arrivals meet: a copy of the model with *slots*; seconds of a step of so many requests in mid-service, and
    of one prompt's arithmetic, per stage.
    """

    step: Callable[[float], float]
    prefill: float
    slots: float
    output: Lengths


def queue_of(shape: Shape, layout: Layout, pace: Pace, slots: float, prompt_tokens: float, output: Lengths) -> Queue:
    """The queue before a copy of *shape* on *layout* at *pace*."""
    decode, stages = decoding(shape, layout, prompt_tokens + output.seen_mean), layout.pipeline

    def step(batch: float) -> float:
        return timed(decode(max(1.0, batch / stages)), pace).seconds

    return Queue(step, timed(prefill_work(shape, layout, prompt_tokens), pace).seconds / stages, slots, output)


def waiting(queue: Queue, requests_per_second: float) -> Waiting | None:
    """What requests wait at *requests_per_second*; None where they come faster than they can be served."""
    prefill = queue.prefill
    busy = requests_per_second * prefill
    batch = _batch(queue, requests_per_second, busy) if busy < 1 else None
    if batch is None or batch >= queue.slots:
        return None
    step = queue.step(batch)
    tpot = step / (1 - busy)
    crowded = min(queue.slots, batch + Z95 * math.sqrt(batch))
    tpot95 = queue.step(crowded) / (1 - busy)
    ttft = _first_token(queue, requests_per_second, batch, prefill, step, tpot)
    output = queue.output
    mean_ttft = ttft.p50 + (ttft.p95 - ttft.p50) / math.log(_HALF_OVER_TAIL)
    latency = Percentiles(ttft.p50 + output.median * tpot, mean_ttft + output.p95 * tpot)
    return Waiting(batch, ttft, Percentiles(tpot, tpot95), latency)


_HALF_OVER_TAIL = 20.0
"""An exponential tail falls from 1 to 0.05 over ln 20 of its means."""


def _batch(queue: Queue, arrivals: float, busy: float) -> float | None:
    """Requests at once: N = λ · output · T_step(N) / (1 - r), by secants (the step grows with N)."""
    scale = arrivals * queue.output.mean / (1 - busy)
    low, at_low = 0.0, scale * queue.step(0.0)
    high = queue.slots
    at_high = scale * queue.step(high)
    if at_high >= high:
        return None
    for _ in range(MOST_ITERATIONS):
        slope = (at_high - at_low) / (high - low)
        guess = (at_low - slope * low) / (1 - slope) if slope < 1 else (low + high) / 2
        guess = min(max(guess, low), high)
        at = scale * queue.step(guess)
        if abs(at - guess) <= SETTLED * max(guess, 0.01):
            return guess
        if at > guess:
            low, at_low = guess, at
        else:
            high, at_high = guess, at
    return high


def _first_token(queue: Queue, arrivals: float, batch: float, prefill: float, step: float, tpot: float) -> Percentiles:
    """Half a step until the engine looks, the prompt within the steps it shares, and the two queues."""
    served = prefill + step
    share = min(0.99, arrivals * served)
    behind = served / (2 * (1 - share))
    chance = _erlang_c(batch, queue.slots)
    residence = queue.output.mean * tpot
    slot = residence / max(queue.slots - batch, 1e-9) * (1 + queue.output.variation) / 2
    p50 = step / 2 + served + _exceeded(share, 0.5, behind) + _exceeded(chance, 0.5, slot)
    p95 = step + served + max(_exceeded(share, _TAIL, behind), _exceeded(chance, _TAIL, slot))
    return Percentiles(p50, max(p50, p95))


def _exceeded(chance: float, share: float, mean: float) -> float:
    """The wait that *share* of all exceed, where *chance* wait at all, exponentially with *mean*."""
    return math.log(chance / share) * mean if chance > share else 0.0


def _erlang_c(load: float, servers: float) -> float:
    """The chance to find all *servers* taken at an offered *load* (Halfin and Whitt 1981)."""
    beta = (servers - load) / math.sqrt(servers)
    density = math.exp(-(beta**2) / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + math.erf(beta / math.sqrt(2)))
    return 1 / (1 + beta * below / density) if density > 0 else 0.0
