"""Each scenario of `make soak`, as short as it can be and still show something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak import clients, machine

SHORT: list[tuple[Callable[[Path, float], str], float]] = [
    (clients.slow_clients, 0.1),
    (clients.idle_connections, 0.3),
    (clients.malformed, 0.05),
    (clients.pipelined, 0.1),
    (clients.bodies, 0.05),
    (machine.killed_worker, 0.1),
    (machine.full_disk, 0.1),
    (machine.descriptors_used_up, 0.1),
    (machine.clock_jumps, 0.05),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "scale"), [pytest.param(*each, id=each[0].__name__) for each in SHORT])
def test_the_service_stands(scenario: Callable[[Path, float], str], scale: float, tmp_path: Path) -> None:
    """What the scenario says holds."""
    told = scenario(tmp_path, scale)
    if told.startswith("left out"):
        pytest.skip(told)
