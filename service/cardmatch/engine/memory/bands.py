"""Bands from fitted constants."""

from __future__ import annotations

import math

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
        basis=Basis.CALIBRATED if constant.rows else Basis.EXTRAPOLATED,
    )


def stretched(band: Band, times_beyond: float) -> Band:
    """*band* for a size that lies *times_beyond* the largest measured: wider by half for each doubling."""
    wider = 1 + math.log2(times_beyond) / 2
    return Band(
        low_bytes=int(band.expected_bytes - (band.expected_bytes - band.low_bytes) * min(wider, 2)),
        expected_bytes=band.expected_bytes,
        high_bytes=int(band.expected_bytes + (band.high_bytes - band.expected_bytes) * wider),
        basis=Basis.EXTRAPOLATED,
    )
