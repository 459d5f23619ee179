"""The shipped speed constants against a few published rates, and the shape of the calibration file."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from tests.truth.cases import COMMITTED, read_cases
from tests.truth.families.speed import SpeedFamily
from tests.truth.world import TruthWorld

ROWS = {case.id: case for case in read_cases(COMMITTED, "speed")}


@pytest.mark.parametrize(
    "row",
    [
        "sil-3717-b200-vllm-llama3-70b-fp8-tp1-1024-1024-c64",
        "lcpp-rtx-4080x1-llama3-8b-q4_k_m-tg1024",
        "vllm-rtx-4090x1-qwq32b-awq",
    ],
)
def test_published_rates_lie_in_the_band(row: str) -> None:
    """Servers under load and single streams, on three cards."""
    family, world = SpeedFamily(), TruthWorld()
    (figure,) = family.score(family.prepare(ROWS[row], world), bundled().calibration.speed).figures
    assert figure.covered


def test_every_constant_says_what_it_rests_on() -> None:
    """A range that holds the value, and rows and sources that can move it."""
    known = bundled().calibration.speed
    for name, constant in known.constants.items():
        assert constant.low <= constant.value <= constant.high, name
        assert constant.rows >= constant.sources >= 1, name
    assert len(known.residuals) > 400
