"""Least absolute deviations by coordinate descent: a handful of positive constants, no package needed.

The median is what a truth case's odd neighbour cannot move, so a weighted sum of |log(predicted / measured)| is what is
made small. A weak pull towards the value that physics suggests decides what the cases leave open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

GOLDEN = (math.sqrt(5) - 1) / 2
PULL = 0.01
"""Weight of |log(constant / prior)|, in units of one case's error."""
_SWEEPS, _SPAN = 5, 3.0
_GRID, _SECTIONS = 6, 10
_SETTLED = 3e-3


class Term(NamedTuple):
    """One case's share of the loss, as a function of all constants, and which of them can move it."""

    loss: Callable[[Sequence[float]], float]
    moved_by: frozenset[int]


def minimise(terms: Sequence[Term], priors: Sequence[float]) -> list[float]:
    """The constants that make the sum of *terms* small, each within a factor of three around its prior."""
    values, width = list(priors), math.log(_SPAN)
    touched = [[term for term in terms if index in term.moved_by] for index in range(len(priors))]
    for _ in range(_SWEEPS):
        before = list(values)
        for index, own in enumerate(touched):
            values[index] = _along(own, values, index, priors[index], width)
        if max(abs(math.log(v / b)) for v, b in zip(values, before, strict=True)) < _SETTLED:
            break
    return values


def _along(terms: Sequence[Term], values: list[float], index: int, prior: float, width: float) -> float:
    """The best value of one constant: a grid in the logarithm, then golden sections around its best point."""
    trial = list(values)

    def at(x: float) -> float:
        trial[index] = prior * math.exp(x)
        return sum(term.loss(trial) for term in terms) + PULL * abs(x)

    here = math.log(values[index] / prior)
    step = width / _GRID
    best = min([*(step * k for k in range(-_GRID, _GRID + 1)), here], key=at)
    low, high = max(best - step, -width), min(best + step, width)
    for _ in range(_SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if at(left) <= at(right):
            high = right
        else:
            low = left
    return prior * math.exp(min([(low + high) / 2, best, here], key=at))


def quantile(values: Sequence[float], share: float) -> float:
    """The *share* quantile of *values*, interpolated."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])
