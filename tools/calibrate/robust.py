"""Least absolute deviations by coordinate descent: a handful of positive constants, no package needed.

The median is what a truth case's odd neighbour cannot move, so the sum of |log(predicted / measured)| is what is made
small, each source weighing like the square root of its cases. A weak pull towards the value that physics suggests
decides what the cases leave open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

GOLDEN = (math.sqrt(5) - 1) / 2
PULL = 0.01
"""Weight of |log(constant / prior)|, in units of one case's error."""

Loss = Callable[[Sequence[float]], float]


def minimise(loss: Loss, priors: Sequence[float], *, sweeps: int = 5, span: float = 3.0) -> list[float]:
    """The constants that make *loss* small, each within a factor of *span* around its prior."""

    def pulled(values: Sequence[float]) -> float:
        return loss(values) + PULL * sum(abs(math.log(v / p)) for v, p in zip(values, priors, strict=True))

    values, width = list(priors), math.log(span)
    for _ in range(sweeps):
        before = list(values)
        for index in range(len(values)):
            values[index] = _along(pulled, values, index, priors[index], width)
        if max(abs(math.log(v / b)) for v, b in zip(values, before, strict=True)) < 1e-3:
            break
    return values


def _along(loss: Loss, values: list[float], index: int, prior: float, width: float) -> float:
    """The best value of one constant: a grid in the logarithm, then golden sections around its best point."""
    trial = list(values)

    def at(x: float) -> float:
        trial[index] = prior * math.exp(x)
        return loss(trial)

    steps = [width * k / 6 for k in range(-6, 7)]
    here = math.log(values[index] / prior)
    best = min([*steps, here], key=at)
    low, high = max(best - width / 6, -width), min(best + width / 6, width)
    for _ in range(10):
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
