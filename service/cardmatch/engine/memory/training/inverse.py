"""The inverse answers: the largest micro-batch and the longest sequence that still run."""

from __future__ import annotations

import math
from collections.abc import Callable

from cardmatch.engine.memory.training.peak import Curve, Curves, floor

MOST = 65_536
"""Sequences of the largest micro-batch that a request may ask for."""
MOST_SEQUENCE_TOKENS = 10**9
"""Tokens of the longest sequence that a request may ask for: how far to look where the model itself has no limit."""


def largest_micro_batch(stages: tuple[Curves, ...], budget: int, sequence_tokens: int, ranks: int) -> int:
    """Sequences in the largest micro-batch that every stage can run within *budget*; 0 where not even one.

    *ranks* context-parallel ranks share each sequence.
    """
    most = MOST
    for on in stages:
        room = _room(on, budget)
        for curve in _moments(on):
            slope = (curve.at(sequence_tokens, sequence_tokens) - curve.fixed) / ranks
            most = min(most, _linear(room - curve.fixed, slope))
    return _settled(most, MOST, lambda count: _runs(stages, budget, count * sequence_tokens / ranks, sequence_tokens))


def longest_sequence(stages: tuple[Curves, ...], budget: int, micro_batch: int, ceiling: int, ranks: int) -> int:
    """Tokens of the longest sequence, up to *ceiling*, that runs in micro-batches of *micro_batch*; 0 where none."""
    most = ceiling
    for on in stages:
        room = _room(on, budget)
        for curve in _moments(on):
            share = micro_batch / ranks
            left = room - curve.fixed - curve.sequence * share
            most = min(most, _quadratic(left, curve.each * share, curve.square * share))
    return _settled(most, ceiling, lambda tokens: _runs(stages, budget, micro_batch * tokens / ranks, tokens))


def _room(on: Curves, budget: int) -> float:
    return budget - on.outside + on.pageable - on.resident


def _moments(on: Curves) -> tuple[Curve, ...]:
    """Each moment as a curve above what is resident; the recomputed layer is the decoder's or the encoder's."""
    beside = ((on.passes, on.logits), (on.passes + on.backward, on.live), (on.passes + on.backward, on.encoder))
    return *(_joined(fixed, on.kept, curve) for fixed, curve in beside), Curve(on.step, 0.0, 0.0)


def _joined(fixed: float, kept: Curve, curve: Curve) -> Curve:
    each, square = kept.each + curve.each, kept.square + curve.square
    return Curve(fixed + curve.fixed, each, square, kept.sequence + curve.sequence)


def _linear(room: float, slope: float) -> int:
    if room < 0:
        return 0
    return MOST if slope <= 0 else min(MOST, math.floor(room / slope))


def _quadratic(room: float, slope: float, square: float) -> int:
    """The largest x with slope·x + square·x² ≤ room."""
    if room < 0:
        return 0
    if square <= 0:
        return 1 << 40 if slope <= 0 else math.floor(room / slope)
    return math.floor((math.sqrt(slope * slope + 4 * square * room) - slope) / (2 * square))


def _runs(stages: tuple[Curves, ...], budget: int, tokens: float, sequence_tokens: int) -> bool:
    return all(floor(on, tokens, sequence_tokens) <= budget for on in stages)


def _settled(near: int, most: int, runs: Callable[[int], bool]) -> int:
    """*near* corrected for rounding: the number itself runs, the next does not."""
    while near < most and runs(near + 1):
        near += 1
    while near > 0 and not runs(near):
        near -= 1
    return near
