"""An amount of dollars with its uncertainty."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.band import Basis

MOST_DOLLARS = 1e15
"""Ten times what the world earns in a year: whatever costs more has a unit or a rate wrong, and is refused."""

Dollars = Annotated[float, Meta(ge=0, le=MOST_DOLLARS, description="US dollars.")]
DECIMALS = 6


class UsdBand(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """US dollars with a range: the true amount lies between low and high nine times in ten."""

    low_usd: Dollars
    expected_usd: Dollars
    high_usd: Dollars
    basis: Annotated[Basis, Meta(description="How the amount was obtained.")]


def dollars(amount: float) -> float:
    """*amount* to a millionth of a dollar: far below a cent, so that rounded lines still add up to the cent."""
    return round(amount, DECIMALS)


def spread(expected: float, downs: list[float], ups: list[float], basis: Basis) -> UsdBand:
    """*expected* with independent errors: those down and those up are each added in quadrature."""
    middle = dollars(expected)
    down, up = math.hypot(*downs), math.hypot(*ups)
    return UsdBand(
        low_usd=dollars(max(expected - down, 0.0)) if down else middle,
        expected_usd=middle,
        high_usd=dollars(expected + up) if up else middle,
        basis=basis,
    )
