"""A figure of speed with its uncertainty; the unit is in the name of the field that holds it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.speed.calibration import Spread
from cardmatch.engine.terms.band import Basis

Figure = Annotated[float, Meta(ge=0, le=1e18)]

UNSEEN_POWER = 1.3
"""A card without measurements of its engine: bands this much wider in the logarithm.

TensorRT-LLM's tables, one set of constants: nine in ten within 20 % on cards that the fit has seen, within 26 % on a
card left out, and ln 1.26 = 1.27 ln 1.2.
"""

UNMEASURED = Spread(low_ratio=0.5, high_ratio=2.0, rows=0)
"""Where no row speaks to an engine and a sort of model."""

FIRST_TOKEN = Spread(low_ratio=0.45, high_ratio=2.2, rows=0)
"""Measured times to first token scatter by 35 % in the median and 77 % at the ninetieth: they are the scheduler's."""


class SpeedBand(msgspec.Struct, frozen=True, kw_only=True):
    """The true figure lies between low and high nine times in ten."""

    low: Figure
    expected: Figure
    high: Figure
    basis: Annotated[Basis, Meta(description="How the figure was obtained.")]


class Doubt(msgspec.Struct, frozen=True):
    """How far a measured time may lie from the predicted one, and how sure that is."""

    low_ratio: float
    high_ratio: float
    basis: Basis

    def time(self, seconds: float) -> SpeedBand:
        """The band of a time."""
        low, high = seconds * self.low_ratio, seconds * self.high_ratio
        return SpeedBand(low=low, expected=seconds, high=high, basis=self.basis)

    def rate(self, per_second: float) -> SpeedBand:
        """The band of a rate: slow is where the time is long."""
        low, high = per_second / self.high_ratio, per_second / self.low_ratio
        return SpeedBand(low=low, expected=per_second, high=high, basis=self.basis)

    def wider(self, by: Spread) -> Doubt:
        """The doubt of a time that scatters *by* so much by itself."""
        return Doubt(min(self.low_ratio, by.low_ratio), max(self.high_ratio, by.high_ratio), self.basis)


def doubt(spread: Spread | None, *, seen: bool, exact_model: bool = True) -> Doubt:
    """The doubt of a prediction in a group with *spread*, on a card that its rows have *seen* or not."""
    basis = Basis.CALIBRATED if spread is not None and seen else Basis.EXTRAPOLATED
    if not exact_model:
        basis = Basis.RULE_OF_THUMB
    found = spread or UNMEASURED
    power = 1.0 if seen or spread is None else UNSEEN_POWER
    return Doubt(min(1.0, found.low_ratio) ** power, max(1.0, found.high_ratio) ** power, basis)
