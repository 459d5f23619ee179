"""A constant from few, uneven observations: the median over sources of each source's median."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from cardmatch.engine.memory.calibration import Fitted
from tests.truth.statistics import median, percentile

UNMEASURED_LOW, UNMEASURED_HIGH = 0.5, 2.0
"""The band of a constant that no row speaks to."""

TAIL = 0.1
FEW_SOURCES = 10
"""With fewer sources the band spans all of their rows instead of leaving a tenth out at each end."""

_DIGITS = 4


class Observation(NamedTuple):
    """What one row says that a constant is."""

    row: str
    source: str
    value: float


def fitted(observations: Sequence[Observation], prior: float) -> Fitted:
    """The constant and the spread of its rows, wider where few sources speak; *prior* where none does."""
    if not observations:
        return Fitted(value=prior, low_ratio=UNMEASURED_LOW, high_ratio=UNMEASURED_HIGH, rows=0)
    by_source: dict[str, list[float]] = defaultdict(list)
    for each in observations:
        by_source[each.source].append(each.value)
    value = median([median(values) for values in by_source.values()])
    residuals = [each.value / value for each in observations] if value else [1.0] * len(observations)
    doubt = 1 + 1 / (1 + len(by_source))
    tail = TAIL if len(by_source) >= FEW_SOURCES else 0.0
    return Fitted(
        value=round(value, _DIGITS) if value < 1000 else round(value),
        low_ratio=round(max(0.0, min(percentile(residuals, tail), 1 / doubt)), _DIGITS),
        high_ratio=round(max(percentile(residuals, 1 - tail), doubt), _DIGITS),
        rows=len(observations),
        sources=tuple(each.row for each in observations),
        residuals=tuple(round(residual, _DIGITS) for residual in residuals),
    )
