"""Medians, percentiles and Wilson's interval against published values."""

from __future__ import annotations

import math

import pytest

from tests.truth.statistics import median, percentile, wilson


def test_wilson_gives_the_published_interval() -> None:
    """81 of 263 is 0.2553 to 0.3662 (Newcombe 1998, table I, method 3)."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)


def test_percentiles_are_interpolated() -> None:
    """The middle of an even number lies between the two; nothing has no middle."""
    assert median([3, 1, 2, 10]) == 2.5
    assert percentile([0, 10], 0.9) == 9
    assert math.isnan(median([]))
