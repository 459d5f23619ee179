"""The measuring itself."""

from __future__ import annotations

import itertools
import time
import urllib.request
from itertools import repeat

import msgspec
import pytest

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.answers.estimate import Estimate, EstimateRequest, estimate_vram
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.estimate import ServingEstimate
from cardmatch.engine.money.answer import CostFigures
from cardmatch.text.language import Language
from tools.bench.__main__ import Row, best_microseconds
from tools.bench.mix import COSTS, ESTIMATES, TODAY, mixes
from tools.bench.questions import ESTIMATE
from tools.bench.server import drive, serving


def test_a_call_is_timed_in_microseconds_of_cpu() -> None:
    """Sleeping costs nothing, work does."""

    def work() -> int:
        return sum(range(20_000))

    assert best_microseconds(lambda: time.sleep(0.001), rounds=2, calls=5) < 500
    assert best_microseconds(work, rounds=3, calls=20) > 50


def test_a_missed_mark_is_told() -> None:
    """A row says what was measured, the mark, and whether it was missed."""
    assert "MISSED" in str(Row("x", 2.0, "µs", 1.0))
    assert "MISSED" not in str(Row("x", 1.0, "µs", 1.0))
    assert Row("x", 1.0, "µs").held


def test_a_server_is_measured_from_outside() -> None:
    """The worker answers, and the kernel counts CPU time and memory for it."""
    with serving("tools.bench.echo:app", factory=False) as server:
        before = server.cpu_seconds()
        answered = drive(server, "/", repeat(b'{"a":1}'), 0.3)
        assert answered > 10
        assert 0 < server.cpu_seconds() - before < 5
        assert 10 << 20 < server.resident_bytes() < 200 << 20


def test_hardly_two_requests_of_a_mix_are_alike() -> None:
    """What is drawn is the same in every process and new in almost every request."""
    estimates, costs = mixes()
    assert (len(estimates.engines), len(costs.engines)) == (ESTIMATES, COSTS)


def test_the_engine_is_asked_what_the_service_asks_it() -> None:
    """The call that is measured comes to the figures of the answer to the same body."""
    world = bundled()
    estimates, costs = mixes()
    for body in itertools.islice(estimates.engines, 20):
        figures, request = estimates.engines[body](), msgspec.json.decode(body, type=EstimateRequest)
        answer = estimate_vram(world, request, Language.EN, TODAY)
        assert isinstance(figures, ServingEstimate)
        assert isinstance(answer, Estimate)
        assert figures.need == answer.need
        assert [_bare(placed) for placed in figures.placements] == [_bare(placed) for placed in answer.placements]
    for body in itertools.islice(costs.engines, 5):
        figures, priced = costs.engines[body](), msgspec.json.decode(body, type=CostRequest)
        assert isinstance(figures, CostFigures)
        assert figures.rank_by_cost == cost(world, priced, Language.EN, TODAY).rank_by_cost


def _bare(placed: PlacementEstimate) -> PlacementEstimate:
    return msgspec.structs.replace(placed, notices=())


def test_the_engine_beside_an_echo_sends_bodies_back() -> None:
    """The echo that asks the engine answers each body of a mix with that body, and anything else with an error."""
    mix = mixes()[0]
    body = next(iter(mix.engines))
    with serving("tools.bench.reckoner:app", factory=False) as server:
        assert drive(server, mix.path, repeat(body), 0.2) > 0
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{mix.path}", data=body) as answer:
            assert answer.read() == body
        with pytest.raises(RuntimeError, match="500"):
            drive(server, mix.path, repeat(b"{}"), 0.2)


def test_what_is_not_answered_well_is_not_counted() -> None:
    """A benchmark of error responses would be the quickest of all."""
    with serving("cardmatch.app:create_app", factory=True) as server:
        assert drive(server, ESTIMATE.path, repeat(ESTIMATE.body), 0.2) > 0
        with pytest.raises(RuntimeError, match="422"):
            drive(server, ESTIMATE.path, repeat(b"{}"), 0.2)
