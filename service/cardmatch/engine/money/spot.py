"""Machines that may be taken away: how often to save, what interruptions cost, when spot stops being cheaper.

J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974. Real preemptions are
not memoryless, and nobody publishes their rate, so the rate is always the caller's.
"""

from __future__ import annotations

import math
from typing import Annotated

import msgspec
from msgspec import Meta

_SECONDS = 3600.0
RAREST = 1e-9
"""One interruption in a hundred thousand years counts as none."""

MOST_INTERRUPTIONS = 3600.0
"""Per hour; what bears one every second bears any."""


class Spot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How interruptions of one machine look, and what saving and coming back take.

    The interval between checkpoints is Young's where it is null.
    """

    interruptions_per_hour: Annotated[float, Meta(ge=0, le=60, description="Of one machine, on average.")]
    checkpoint_seconds: Annotated[float, Meta(ge=0, le=86_400, description="To write one checkpoint.")]
    restart_seconds: Annotated[float, Meta(ge=0, le=86_400, description="From interruption to working again.")]
    checkpoint_interval_seconds: Annotated[float, Meta(ge=1, le=10**7)] | None = None


def young_interval_hours(interruptions_per_hour: float, checkpoint_hours: float) -> float:
    """√(2d/λ): the work between two checkpoints that loses least. Infinite where nothing interrupts."""
    if interruptions_per_hour < RAREST:
        return math.inf
    return math.sqrt(2 * checkpoint_hours / interruptions_per_hour)


def overhead_share(spot: Spot, machines: int) -> float:
    """Time beside the work, per hour of work: d/τ + λ(τ/2 + R), λ over all *machines*, since one takes all down.

    A first-order figure, good while it stays well below one.
    """
    rate = spot.interruptions_per_hour * machines
    saving, restart = spot.checkpoint_seconds / _SECONDS, spot.restart_seconds / _SECONDS
    interval = interval_hours(spot, machines)
    if rate < RAREST:
        return saving / interval
    return (saving / interval if saving else 0.0) + rate * (interval / 2 + restart)


def restart_share(spot: Spot, machines: int) -> float:
    """Time spent coming back, per hour: λR over all *machines*, for work that has nothing to save."""
    return spot.interruptions_per_hour * machines * spot.restart_seconds / _SECONDS


def interval_hours(spot: Spot, machines: int) -> float:
    """The interval that the caller set, else Young's; never below the time that writing takes."""
    if spot.checkpoint_interval_seconds is not None:
        return spot.checkpoint_interval_seconds / _SECONDS
    saving = spot.checkpoint_seconds / _SECONDS
    return max(young_interval_hours(spot.interruptions_per_hour * machines, saving), saving)


def break_even_interruptions(spot: Spot, machines: int, spot_price: float, on_demand_price: float) -> float | None:
    """Interruptions of one machine per hour at which spot costs as much as on demand; None where it never is cheaper.

    At Young's interval the overhead is √(2dλ) + λR; it may reach (on demand / spot) − 1.
    """
    bearable = on_demand_price / spot_price - 1
    if bearable <= 0:
        return None
    saving, restart = spot.checkpoint_seconds / _SECONDS, spot.restart_seconds / _SECONDS
    linear = math.sqrt(2 * saving)
    # The positive root of R·x² + √(2d)·x = bearable, in the form that subtracts nothing.
    divisor = linear + math.sqrt(linear**2 + 4 * restart * bearable)
    if divisor <= 0:
        return MOST_INTERRUPTIONS
    root = 2 * bearable / divisor
    return min(root * root / machines, MOST_INTERRUPTIONS)
