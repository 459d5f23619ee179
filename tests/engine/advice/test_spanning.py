"""Copies over many machines: as many are tried as may be worth it, not every number that is allowed."""

from __future__ import annotations

import pytest

from cardmatch.engine.advice.question import Load, Wanted
from tests.engine.advice.asking import asked
from tests.engine.advice.searching import real_paces

LOAD = Load(prompt_tokens=1000, output_tokens=300, concurrency=8)
LARGE = "llama 3.1 405b"


@pytest.mark.slow
def test_sixty_four_machines_take_hardly_more_trials_than_eight() -> None:
    """How many machines are allowed does not set how long a stranger's request takes."""
    few, many = (asked(Wanted(load=LOAD, nodes=nodes, limit=50), model=LARGE, paces=real_paces()) for nodes in (8, 64))
    assert few.considered <= many.considered <= 2 * few.considered < 2500


def test_more_machines_never_worsen_the_best() -> None:
    """What may span two machines may also span more, and the best costs no more for it."""
    costs = []
    for nodes in (1, 2, 3, 5, 8, 16, 64):
        found = asked(Wanted(load=LOAD, nodes=nodes, limit=1), model=LARGE, paces=real_paces())
        costs.append(found.options[0].usd_per_hour)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
