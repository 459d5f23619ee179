"""Medians, percentiles and the interval of a share."""

from __future__ import annotations

import math
from collections.abc import Sequence

_Z = 1.959964
"""The normal distribution's 97.5th percentile: a 95 % interval."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which *share* of *values* lie, interpolated; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def median(values: Sequence[float]) -> float:
    """The middle value; NaN of nothing."""
    return percentile(values, 0.5)


def wilson(hits: int, tries: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (1927)."""
    if not tries:
        return 0.0, 1.0
    share = hits / tries
    scale = 1 + _Z**2 / tries
    middle = (share + _Z**2 / (2 * tries)) / scale
    spread = _Z * math.sqrt(share * (1 - share) / tries + _Z**2 / (4 * tries**2)) / scale
    return middle - spread, middle + spread
