"""The question of what work costs: options, the work, and what all options share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.currency import Currency
from cardmatch.engine.money.option import Label, Option
from cardmatch.engine.money.purchase import Purchase
from cardmatch.engine.money.spot import Spot
from cardmatch.engine.money.work import Data, Work

MOST_OPTIONS = 100
MOST_POINTS = 50


class SweepParameter(StrEnum):
    """What a sweep varies. Rents and rates are those of each varied option, the rest is the work's."""

    USD_PER_HOUR = "usd_per_hour"
    UNITS_PER_SECOND = "units_per_second"
    UNITS = "units"
    UTILISATION = "utilisation"
    RUNS = "runs"
    FAILED_SHARE = "failed_share"
    IDLE_HOURS = "idle_hours"
    OUT_GB = "out_gb"
    STORED_GB = "stored_gb"
    INTERRUPTIONS_PER_HOUR = "interruptions_per_hour"


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One parameter set to each of some values, with everything else as asked; `label` varies one option only."""

    parameter: SweepParameter
    values: Annotated[tuple[Annotated[float, Meta(ge=0, le=10**18)], ...], Meta(min_length=1, max_length=MOST_POINTS)]
    label: Label | None = None


class CostQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options to compare on the same work.

    `runs` is how many runs of a job must succeed, `failed_share` of those started do not, and are paid. `spot` holds
    for every option that states none; `purchase` is what every rented option is compared with; waiting is worth
    `time_value_usd_per_hour`. `currency` adds the totals in it.
    """

    options: Annotated[tuple[Option, ...], Meta(min_length=1, max_length=MOST_OPTIONS)]
    work: Work
    data: Data = Data()
    runs: Annotated[int, Meta(ge=1, le=10**6)] = 1
    failed_share: Annotated[float, Meta(ge=0, le=0.99, description="Of the runs started.")] = 0.0
    time_value_usd_per_hour: Annotated[float, Meta(ge=0, le=10**6)] = 0.0
    spot: Spot | None = None
    purchase: Purchase | None = None
    currency: Currency | None = None
    sweep: Sweep | None = None
