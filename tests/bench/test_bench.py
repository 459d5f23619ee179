"""The measuring itself."""

from __future__ import annotations

import time
from itertools import repeat

import pytest

from tools.bench.__main__ import Row, best_microseconds
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


def test_what_is_not_answered_well_is_not_counted() -> None:
    """A benchmark of error responses would be the quickest of all."""
    with serving("cardmatch.app:create_app", factory=True) as server:
        assert drive(server, ESTIMATE.path, repeat(ESTIMATE.body), 0.2) > 0
        with pytest.raises(RuntimeError, match="422"):
            drive(server, ESTIMATE.path, repeat(b"{}"), 0.2)
