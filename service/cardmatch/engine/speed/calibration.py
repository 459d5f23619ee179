"""Constants of speed that are measured, not derived: `tools/calibrate` fits them, the catalogue keeps them."""

from __future__ import annotations

import functools
from typing import Annotated

import msgspec
from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=80)]
Positive = Annotated[float, Meta(gt=0, le=1e18)]


class Constant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A constant, its range over fits that each left one source out, and how many rows and sources can move it."""

    value: Positive
    low: Positive
    high: Positive
    rows: int
    sources: int


class Spread(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Measured over predicted of rows that the fit had not seen: the ninetieths of both ends, and how many rows."""

    low_ratio: Positive
    high_ratio: Positive
    rows: int


class Residual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Measured over predicted time of one row, in the sample and with its source left out."""

    case: str
    source: str
    group: str
    ratio: float
    ratio_left_out: float


class SpeedCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Every fitted constant of the speed room.

    `constants` are named `quantity` or `quantity/what/…`: a base and factors on it (see `pace`). `spreads` are keyed
    by group (see `groups`). `seen` are the cards that rows of each group ran on.
    """

    as_of: str
    constants: dict[Name, Constant]
    spreads: dict[Name, Spread]
    seen: dict[Name, tuple[str, ...]]
    residuals: tuple[Residual, ...] = ()

    @functools.cached_property
    def values(self) -> dict[str, float]:
        """The constants alone, for the formulas."""
        return {name: each.value for name, each in self.constants.items()}
