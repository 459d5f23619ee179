"""Closed formulas for random arrivals beside a simulation."""

from __future__ import annotations

import math
from itertools import product

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.layout import SINGLE
from cardmatch.engine.speed.arrivals import queue_of, waiting
from cardmatch.engine.speed.lengths import lengths
from cardmatch.engine.speed.serving import seat_pace
from cardmatch.engine.speed.steady import constant_load, steady
from cardmatch.engine.speed.step import cache_read
from tests.engine.speed.places import seat, shape
from tests.engine.speed.simulation import Server, Traffic, simulate

SIGMA = 0.7
P95_OVER_MEAN = math.exp(1.6449 * SIGMA - SIGMA**2 / 2)
LOADS = (0.3, 0.5, 0.7, 0.85)
PLACES = (("h100-sxm-80", "fp8", 256), ("a100-sxm-80", "bf16", 256), ("rtx-4090", "bf16", 40))
LENGTHS = ((1000, 250), (200, 400))


@pytest.mark.slow
@pytest.mark.parametrize(("place", "size", "load"), list(product(PLACES, LENGTHS, LOADS)))
def test_p95_latency_lies_within_a_tenth_of_the_simulation(
    place: tuple[str, str, int], size: tuple[int, int], load: float
) -> None:
    """Three cards, long and short prompts, up to 85 % of what the placement can do."""
    (card, weights, slots), (prompt, output) = place, size
    model, where = shape(weights=weights), seat(card, slots=slots)
    pace = seat_pace(model, where, bundled().calibration.speed)
    spread = lengths(output, output * P95_OVER_MEAN)
    queue = queue_of(model, SINGLE, pace, slots, prompt, spread)
    capacity = steady(constant_load(model, SINGLE, slots, prompt, output), pace).requests_per_second
    arrivals = load * capacity
    server = Server(
        weights=model.weights.total / pace.bytes_per_second,
        token=2 * model.multiplied / pace.flops_per_second,
        cached=(cache_read(model, SINGLE, 1001) - cache_read(model, SINGLE, 1000)) / pace.cache_bytes_per_second,
        fixed=model.launches * pace.launch_seconds + pace.step_seconds,
        request=pace.request_seconds,
        slots=slots,
    )
    seen = simulate(server, Traffic(arrivals, prompt, output, SIGMA), requests=12_000, seed=7)
    found = waiting(queue, arrivals)
    assert found is not None
    assert found.latency.p95 == pytest.approx(seen.latency_p95, rel=0.10)
    assert found.batch == pytest.approx(seen.batch, rel=0.10)


def test_more_than_the_capacity_is_not_sustained() -> None:
    """Requests that come faster than they can be served have no latency."""
    model, where = shape(), seat("rtx-4090", slots=16)
    pace = seat_pace(model, where, bundled().calibration.speed)
    queue = queue_of(model, SINGLE, pace, 16, 1000, lengths(250, None))
    assert waiting(queue, 1000.0) is None
