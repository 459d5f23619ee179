"""The fit of the diffusion constants: what ships is what the committed cases call for."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.memory.diffusion.calibration import Factors, factors
from tests.truth.cases import COMMITTED
from tests.truth.world import TruthWorld
from tools.calibrate.__main__ import fit_diffusion
from tools.calibrate.diffusion import PRIORS


def test_constants_lie_near_what_physics_suggests() -> None:
    """No constant is further than a factor of two from its prior, and only the CUDA context has no case."""
    shipped = calibration().diffusion
    for name, value, prior in zip(Factors._fields, factors(shipped), PRIORS, strict=True):
        assert prior / 2 <= value <= prior * 2, name
        assert (getattr(shipped, name).cases > 0) is (name != "context_bytes")


def test_what_ships_is_what_the_cases_give() -> None:
    """Fitting the committed cases anew gives the constants of the release."""
    found = fit_diffusion(COMMITTED, TruthWorld())
    assert factors(found) == pytest.approx(factors(calibration().diffusion), rel=0.001)


def test_every_residual_has_its_source() -> None:
    """A case and a public address each, with and without its source."""
    residuals = calibration().diffusion.residuals
    assert len({each.case for each in residuals}) == len(residuals) >= 60
    assert all(each.source and each.ratio > 0 and each.ratio_left_out > 0 for each in residuals)
