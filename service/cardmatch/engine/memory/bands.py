"""Bands from fitted constants."""

from __future__ import annotations

from cardmatch.engine.memory.calibration import Fitted
from cardmatch.engine.terms.band import Band, Basis


def sure(figure: int) -> Band:
    """A figure that follows from the model's and engine's own rules."""
    return Band(low_bytes=figure, expected_bytes=figure, high_bytes=figure, basis=Basis.EXACT)


def fitted_band(constant: Fitted, units: float) -> Band:
    """*constant* × *units* bytes, with the spread of the rows that the constant was fitted to."""
    expected = constant.value * units
    return Band(
        low_bytes=int(expected * constant.low_ratio),
        expected_bytes=int(expected),
        high_bytes=int(expected * constant.high_ratio),
        basis=Basis.CALIBRATED,
    )
