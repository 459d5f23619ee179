"""The fit of serving speed: what rows and priors make of constants."""

from __future__ import annotations

import math
import random

import pytest

from cardmatch.catalogue.calibration import calibration
from tests.truth.cases import COMMITTED
from tests.truth.world import TruthWorld
from tools.calibrate.__main__ import fit_speed
from tools.calibrate.posterior import Prior, Row, most_probable, solved
from tools.calibrate.speed_priors import BASES, prior


def _row(parts: dict[str, tuple[str, ...]], measured: float, weight: float = 1.0) -> Row:
    """A time that is the sum of its quantities."""
    return Row(parts, lambda found: math.log(sum(found.values()) / measured), weight)


def test_rows_that_agree_move_a_constant_from_its_prior() -> None:
    """Twenty rows that say 3 against a prior of 2 with a width of 0.3."""
    rows = [_row({"t": ("a",)}, 3.0) for _ in range(20)]
    assert most_probable(rows, {"a": Prior(2.0, 0.3)})["a"] == pytest.approx(3.0, rel=0.03)


def test_one_row_hardly_moves_a_firm_prior() -> None:
    """A width of 0.03 is a quarter of a row's usual error."""
    assert most_probable([_row({"t": ("a",)}, 3.0)], {"a": Prior(2.0, 0.03)})["a"] == pytest.approx(2.0, rel=0.03)


def test_a_row_that_is_far_off_bends_nothing() -> None:
    """Nineteen rows say 2, one says 20."""
    rows = [*(_row({"t": ("a",)}, 2.0) for _ in range(19)), _row({"t": ("a",)}, 20.0)]
    assert most_probable(rows, {"a": Prior(2.0, 0.3)})["a"] == pytest.approx(2.0, rel=0.02)


def test_two_constants_are_told_apart_where_rows_weigh_them_differently() -> None:
    """Times of 5 x + y, x + 5 y, each with noise of 3 %; x = 1.5 and y = 0.8."""
    noise, rows = random.Random(1), []
    for _ in range(30):
        for five_x, five_y in ((5.0, 1.0), (1.0, 5.0)):
            measured = (five_x * 1.5 + five_y * 0.8) * math.exp(noise.gauss(0, 0.03))

            def error(found: dict[str, float], a: float = five_x, b: float = five_y, t: float = measured) -> float:
                return math.log((a * found["x"] + b * found["y"]) / t)

            rows.append(Row({"x": ("x",), "y": ("y",)}, error, 1.0))  # type: ignore[arg-type]
    found = most_probable(rows, {"x": Prior(1.0, 0.5), "y": Prior(1.0, 0.5)})
    assert found["x"] == pytest.approx(1.5, rel=0.03)
    assert found["y"] == pytest.approx(0.8, rel=0.05)


def test_equations_are_solved() -> None:
    """4 x + 2 y = 2 and 2 x + 3 y = 5: x = -1/2, y = 2."""
    assert solved([[4.0, 2.0], [2.0, 3.0]], [2.0, 5.0]) == pytest.approx([-0.5, 2.0])


def test_factors_are_held_to_one_and_bases_to_physics() -> None:
    """What no row speaks to stays there."""
    assert prior("bandwidth/served/hbm-hopper").value == 1.0
    assert prior("bandwidth") == BASES["bandwidth"]
    assert prior("launch/vllm").width < prior("launch/llama_cpp").width < prior("request/vllm").width


@pytest.mark.slow
def test_the_shipped_speed_is_what_the_cases_give() -> None:
    """`make calibrate` changes nothing but the date."""
    shipped, found = calibration().speed, fit_speed(COMMITTED, TruthWorld())
    assert found.values == pytest.approx(shipped.values, rel=1e-3)
    assert found.seen == shipped.seen
    assert found.spreads.keys() == shipped.spreads.keys()
