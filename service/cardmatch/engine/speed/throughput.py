"""A rate of work with its uncertainty, and the units that work is counted in."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.band import Basis

SLOWEST = 1e-9
"""One unit in thirty years: below it a rate is a typing error, and hours would leave the range of numbers."""

UnitsPerSecond = Annotated[
    float, Meta(ge=SLOWEST, le=10**12, description="Units of work per second, all GPUs together.")
]

AnyRate = Annotated[float, Meta(ge=0, le=10**18, description="Units of work per second, scaled or predicted too.")]


class WorkUnit(StrEnum):
    """What work is counted in.

    `token` is whatever the throughput counts: prompt and output tokens together where a benchmark tells them apart.
    """

    TOKEN = "token"  # noqa: S105 - a unit of text, not a secret
    OUTPUT_TOKEN = "output_token"  # noqa: S105 - as above
    REQUEST = "request"
    IMAGE = "image"
    ITEM = "item"
    SAMPLE = "sample"
    TRAIN_TOKEN = "train_token"  # noqa: S105 - as above


class Throughput(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Units of work per second: the true rate lies between low and high nine times in ten."""

    unit: WorkUnit
    low_units_per_second: AnyRate
    expected_units_per_second: AnyRate
    high_units_per_second: AnyRate
    basis: Annotated[Basis, Meta(description="How the rate was obtained; a measurement is exact.")]


def exactly(unit: WorkUnit, units_per_second: float) -> Throughput:
    """A rate that somebody measured or states, without a range."""
    return Throughput(
        unit=unit,
        low_units_per_second=units_per_second,
        expected_units_per_second=units_per_second,
        high_units_per_second=units_per_second,
        basis=Basis.EXACT,
    )


def scaled(throughput: Throughput, factor: float) -> Throughput:
    """*throughput* times *factor*, for another number of GPUs or copies."""
    return msgspec.structs.replace(
        throughput,
        low_units_per_second=throughput.low_units_per_second * factor,
        expected_units_per_second=throughput.expected_units_per_second * factor,
        high_units_per_second=throughput.high_units_per_second * factor,
    )
