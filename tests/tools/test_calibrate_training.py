"""The fit of the training constants: it finds what generated the data, and what ships is what it finds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.peak import Factors, factors
from tests.truth.cases import COMMITTED
from tests.truth.world import TruthWorld
from tools.calibrate.__main__ import fit_training
from tools.calibrate.robust import Term, minimise, quantile
from tools.calibrate.training import PRIORS, written


def test_the_constants_behind_the_data_are_found() -> None:
    """Two constants, exact data: within a hundredth, whatever the priors."""

    def term(x: float, y: float) -> Term:
        def loss(values: Sequence[float]) -> float:
            return abs(math.log((values[0] + values[1] * x) / y))

        return Term(loss, frozenset({0, 1}))

    found = minimise([term(x, 5 + 3 * x) for x in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)], [4.0, 4.0])
    assert found == pytest.approx([5, 3], rel=0.02)


def test_one_wild_case_moves_nothing() -> None:
    """Least absolute deviations follow the median."""

    def term(y: float) -> Term:
        return Term(lambda values: abs(math.log(values[0] / y)), frozenset({0}))

    assert minimise([term(y) for y in (2.0, 2.0, 2.0, 2.0, 1000.0)], [1.5]) == pytest.approx([2], rel=0.01)


def test_a_constant_that_no_case_moves_stays_at_its_prior() -> None:
    """What is not measured is what physics suggests."""
    assert minimise([Term(lambda _: 1.0, frozenset())], [7.0]) == pytest.approx([7])


def test_quantiles_are_interpolated() -> None:
    """The tenth percentile of eleven values is the second."""
    assert quantile([*range(11)], 0.1) == 1
    assert quantile([0, 10], 0.25) == 2.5


def test_constants_that_ship_have_sources_and_lie_near_their_priors() -> None:
    """No constant is further than a factor of two from what physics suggests."""
    shipped = calibration().training
    for name, value, prior in zip(Factors._fields, factors(shipped), PRIORS, strict=True):
        fit = getattr(shipped, name)
        assert fit.cases > 0
        assert fit.sources > 0
        assert 0.5 < value / prior < 2, name
        assert fit.low <= value <= fit.high or fit.sources <= 2, name
    assert len({residual.case for residual in shipped.residuals}) > 150


@pytest.mark.slow
def test_what_ships_is_what_the_committed_cases_give() -> None:
    """Nobody edited a constant by hand."""
    shipped = calibration().training
    again = fit_training(COMMITTED, TruthWorld())
    assert factors(again) == pytest.approx(factors(shipped), rel=0.01)
    text = written(msgspec.structs.replace(again, as_of=shipped.as_of))
    assert msgspec.json.decode(text, type=TrainingCalibration).allocated == again.allocated
