"""The constants that ship are those that the committed cases give."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.catalogue.calibration import calibration
from tests.truth.cases import COMMITTED
from tests.truth.world import TruthWorld
from tools.calibrate.__main__ import fit
from tools.calibrate.medians import UNMEASURED_HIGH, Observation, fitted


def test_the_shipped_constants_are_what_the_cases_give() -> None:
    """`make calibrate` changes nothing but the date."""
    shipped = calibration().serving
    found = fit(COMMITTED, TruthWorld())
    assert msgspec.structs.replace(found, as_of=shipped.as_of) == shipped


def test_a_source_with_many_rows_counts_once() -> None:
    """The constant is the median over sources of their medians."""
    rows = [Observation(f"a{number}", "a", 1.0) for number in range(9)]
    rows += [Observation("b", "b", 2.0), Observation("c", "c", 4.0)]
    assert fitted(rows, prior=7.0).value == 2.0


def test_the_band_spans_every_row_of_few_sources() -> None:
    """With fewer than ten sources nothing is left outside."""
    found = fitted([Observation(str(value), str(value), value) for value in (1.0, 2.0, 8.0)], prior=1.0)
    assert found.low_ratio <= 0.5
    assert found.high_ratio == 4.0


def test_what_no_row_speaks_to_keeps_its_prior_with_a_wide_band() -> None:
    """A constant without rows says so."""
    found = fitted([], prior=3.0)
    assert (found.value, found.rows, found.high_ratio) == (3.0, 0, UNMEASURED_HIGH)
    assert found.value == pytest.approx(3.0)
