"""Positive constants that measured times and what physics says beforehand make most probable together.

A time is a function of a few quantities, each the product of some constants. The loss of a row is about |log(predicted
/ measured)|, flat where a row is far off: what its set-up explains must not bend the constants. A constant is held to
its prior by a normal distribution of its logarithm. Gauss and Newton's steps on reweighted squares find the minimum.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

SCALE = 0.12
"""A usual error of a row, which the widths of priors are set against."""
ROUND = 0.1
"""Errors well below it count by their square: rows that are this near are near enough."""
SATURATION = 0.25
"""Errors well beyond it count ever less."""
_STEPS, _LONGEST, _SETTLED = 25, 0.5, 2e-3
_NUDGE = 1e-3


class Prior(NamedTuple):
    """What is known of a constant before any row: its value, and a standard deviation of its logarithm."""

    value: float
    width: float


class Row(NamedTuple):
    """A measured time: the constants that make up each quantity, and log(predicted / measured) of given quantities."""

    parts: Mapping[str, tuple[str, ...]]
    error: Callable[[Mapping[str, float]], float]
    weight: float


def most_probable(rows: Sequence[Row], priors: Mapping[str, Prior]) -> dict[str, float]:
    """The constants of *priors* in the light of *rows*, which may name no other."""
    order = sorted(priors)
    position = {name: index for index, name in enumerate(order)}
    placed = [(row, [(what, [position[name] for name in made]) for what, made in row.parts.items()]) for row in rows]
    logs = [0.0] * len(order)
    for _ in range(_STEPS):
        values = [priors[name].value * math.exp(log) for name, log in zip(order, logs, strict=True)]
        matrix, vector = _held([priors[name].width for name in order], logs)
        for row, parts in placed:
            _add(row, parts, values, matrix, vector)
        moved = solved(matrix, vector)
        longest = max(map(abs, moved), default=0.0)
        damped = min(1.0, _LONGEST / longest) if longest else 0.0
        logs = [log + damped * move for log, move in zip(logs, moved, strict=True)]
        if longest < _SETTLED:
            break
    return {name: priors[name].value * math.exp(log) for name, log in zip(order, logs, strict=True)}


def _held(widths: Sequence[float], logs: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    """The normal equations of the priors alone."""
    matrix = [[0.0] * len(widths) for _ in widths]
    for index, width in enumerate(widths):
        matrix[index][index] = width**-2
    return matrix, [-log / width**2 for log, width in zip(logs, widths, strict=True)]


def _add(
    row: Row,
    parts: Sequence[tuple[str, Sequence[int]]],
    values: Sequence[float],
    matrix: list[list[float]],
    vector: list[float],
) -> None:
    """Add *row* to the normal equations."""
    found = {what: math.prod(values[index] for index in indices) for what, indices in parts}
    here = row.error(found)
    slopes: dict[int, float] = {}
    for what, indices in parts:
        slope = (row.error({**found, what: found[what] * math.exp(_NUDGE)}) - here) / _NUDGE
        if slope:
            for index in indices:
                slopes[index] = slopes.get(index, 0.0) + slope
    weight = row.weight / (SCALE * math.hypot(here, ROUND)) / (1 + (here / SATURATION) ** 2)
    for index, slope in slopes.items():
        vector[index] -= weight * slope * here
        line = matrix[index]
        for other, across in slopes.items():
            line[other] += weight * slope * across


def solved(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> list[float]:
    """The x of *matrix* x = *vector* for a positive definite matrix (Cholesky)."""
    size = len(vector)
    lower: list[list[float]] = []
    for row in range(size):
        line: list[float] = []
        for column in range(row + 1):
            rest = matrix[row][column] - _dot(line, lower[column] if column < row else line)
            line.append(math.sqrt(rest) if column == row else rest / lower[column][column])
        lower.append(line)
    half: list[float] = []
    for row in range(size):
        half.append((vector[row] - _dot(half, lower[row])) / lower[row][row])
    found = [0.0] * size
    for row in reversed(range(size)):
        rest = half[row] - sum(lower[below][row] * found[below] for below in range(row + 1, size))
        found[row] = rest / lower[row][row]
    return found


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    """The scalar product, as far as the shorter one goes."""
    return sum(map(operator.mul, left, right), 0.0)
