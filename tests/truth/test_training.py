"""Published tables of training memory, predicted with the constants that ship."""

from __future__ import annotations

from functools import cache

import pytest

from tests.truth.cases import COMMITTED, Skipped, read_cases
from tests.truth.families.training import TrainingFamily
from tests.truth.frame import Scored
from tests.truth.statistics import median
from tests.truth.world import TruthWorld


@cache
def _scored() -> tuple[Scored, ...]:
    world, family, found = TruthWorld(), TrainingFamily(), []
    for case in read_cases(COMMITTED, family.name):
        if case.exclude is None:
            try:
                found.append(family.score(family.prepare(case, world), world.catalogue.calibration.training))
            except Skipped:
                continue
    return tuple(found)


@pytest.mark.parametrize(
    ("repository", "within"),
    [("pytorch/torchtune", 0.10), ("QwenLM/Qwen", 0.15), ("foundation-model-stack/fms-acceleration", 0.06)],
)
def test_published_tables_are_met(repository: str, within: float) -> None:
    """Half of a table's rows are closer than *within*: torchtune's ladder, Qwen's README, fms-acceleration's runs."""
    errors = [abs(row.figures[0].error) for row in _scored() if repository in row.case.origin and row.figures]
    assert len(errors) >= 9
    assert median(errors) < within


def test_the_torchtune_ladder_goes_down_step_by_step() -> None:
    """Each technique of torchtune's table saves memory in the prediction where it did in the measurement."""
    ladder = [f"tt-{step}" for step in (21, 24, 25, 26, 27, 28, 29)]
    by_name = {row.case.id: row.figures[0].predicted for row in _scored() if row.figures}
    predicted = [by_name[name] for name in ladder]
    assert predicted == sorted(predicted, reverse=True)


def test_no_run_that_ran_out_of_memory_is_called_good() -> None:
    """Eighteen runs of fms-acceleration's tables ended at the card's limit."""
    failed = [row.judged for row in _scored() if row.judged and row.case.outcome == "oom"]
    assert len(failed) == 18
    assert [judged.verdict for judged in failed if judged.verdict in {"comfortable", "fits"}] == []
