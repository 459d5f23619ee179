"""A discrete-event simulation of continuous batching with chunked prefill, to hold the closed formulas to.

Every step, all running requests get a token, and prompts that wait are read with what is left of the token budget; a
request whose prompt is read joins the batch while there are slots. Nothing here comes from the formulas under test.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from typing import NamedTuple


class Server(NamedTuple):
    """Seconds: `weights` to read them, `token` to multiply one, `cached` to read one token of cache, `fixed` a step,
    `request` what a step spends on each running request besides.
    """

    weights: float
    token: float
    cached: float
    fixed: float
    request: float
    slots: int
    budget: int = 2048

    def step(self, batch: int, cached_tokens: float, prompt_tokens: int) -> float:
        """Seconds of one step; reading weights overlaps with multiplying the batch (norm of order 4)."""
        overlapped: float = (self.weights**4 + (self.token * batch) ** 4) ** 0.25
        return overlapped + cached_tokens * self.cached + self.fixed + batch * self.request + prompt_tokens * self.token


class Traffic(NamedTuple):
    """Poisson arrivals with equal prompts and log-normal outputs."""

    per_second: float
    prompt_tokens: int
    output_mean: float
    output_sigma: float


class Seen(NamedTuple):
    """What the requests met, in seconds."""

    batch: float
    ttft_p50: float
    ttft_p95: float
    latency_p50: float
    latency_p95: float


def simulate(server: Server, traffic: Traffic, requests: int, seed: int) -> Seen:
    """Serve *requests*; the first tenth warms up and is not counted."""
    chance = random.Random(seed)
    mu = math.log(traffic.output_mean) - traffic.output_sigma**2 / 2
    clock, arrival, served = 0.0, 0.0, 0
    waiting: deque[tuple[float, int]] = deque()
    running: list[tuple[int, float, float, int]] = []
    left, steps, cached, occupied = traffic.prompt_tokens, 0, 0.0, 0.0
    first: list[float] = []
    whole: list[float] = []
    while served < requests:
        while arrival <= clock:
            waiting.append((arrival, max(2, round(chance.lognormvariate(mu, traffic.output_sigma)))))
            arrival += chance.expovariate(traffic.per_second)
        if not waiting and not running:
            clock = arrival
            continue
        batch, budget, read = len(running), server.budget - len(running), 0
        joined: list[tuple[float, int]] = []
        while waiting and budget > 0 and batch + len(joined) < server.slots:
            part = min(left, budget)
            read, budget, left = read + part, budget - part, left - part
            if left == 0:
                joined.append(waiting.popleft())
                left = traffic.prompt_tokens
        took = server.step(batch, cached, read)
        clock, steps, cached, occupied = clock + took, steps + 1, cached + batch, occupied + batch * took
        while running and running[0][0] <= steps:
            _, came, started, output = heapq.heappop(running)
            cached -= traffic.prompt_tokens + output
            first.append(started - came)
            whole.append(clock - came)
            served += 1
        for came, output in joined:
            heapq.heappush(running, (steps + output - 1, came, clock, output))
            cached += traffic.prompt_tokens + 1
    count = requests // 10
    return Seen(occupied / clock, *_percentiles(first[count:], 0.5, 0.95), *_percentiles(whole[count:], 0.5, 0.95))


def _percentiles(values: list[float], *shares: float) -> list[float]:
    ordered = sorted(values)
    return [ordered[int(share * (len(ordered) - 1))] for share in shares]
