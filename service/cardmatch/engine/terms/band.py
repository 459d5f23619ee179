"""A figure with its uncertainty."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Bytes


class Basis(StrEnum):
    """Where a figure comes from, surest first."""

    EXACT = "exact"
    CALIBRATED = "calibrated"
    EXTRAPOLATED = "extrapolated"
    RULE_OF_THUMB = "rule_of_thumb"


_BASES = tuple(Basis)
_ORDER = {basis: position for position, basis in enumerate(_BASES)}


def weakest(*bases: Basis) -> Basis:
    """The least sure of *bases*: a sum is only as sure as its weakest part."""
    return max(bases, key=_ORDER.__getitem__)


class Band(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bytes with a range: the true figure lies between low and high nine times in ten."""

    low_bytes: Bytes
    expected_bytes: Bytes
    high_bytes: Bytes
    basis: Annotated[Basis, Meta(description="How the figure was obtained.")]


def add(*bands: Band) -> Band:
    """Sum of parts whose errors may all point the same way, so lows and highs add up too."""
    low = expected = high = 0
    order = 0
    for band in bands:
        low += band.low_bytes
        expected += band.expected_bytes
        high += band.high_bytes
        order = max(order, _ORDER[band.basis])
    return Band(low_bytes=low, expected_bytes=expected, high_bytes=high, basis=_BASES[order])
