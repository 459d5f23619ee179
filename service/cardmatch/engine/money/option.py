"""One way to get the work done: a card and how many, a price, and how fast it is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import Gigabytes
from cardmatch.engine.money.charges import Charges
from cardmatch.engine.money.copies import Copies
from cardmatch.engine.money.price import PerHour, Price
from cardmatch.engine.money.spot import Spot
from cardmatch.engine.speed.reports.report import Family, Tool
from cardmatch.engine.speed.throughput import UnitsPerSecond, WorkUnit

Label = Annotated[str, Meta(min_length=1, max_length=80, description="What the answer calls the option.")]
CardText = Annotated[str, Meta(min_length=1, max_length=80, examples=["rtx-4090"])]
ReportText = Annotated[str, Meta(min_length=1, max_length=2_000_000, description="Raw output of the tool.")]


class _Rate(msgspec.Struct, tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A throughput of one kind."""


class Predicted(_Rate, tag="predicted", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the speed model says of a model and a workload, both as in /estimate-vram.

    Without `copies` each takes as few GPUs as hold it. `units_per_second`, in the unit of the work, is what all copies
    answer within the latencies that were asked for, where that is less than all they could do; its range is the
    model's.
    """

    model: str | dict[str, Any]
    workload: dict[str, Any] = {}
    copies: Annotated[
        Copies | None, Meta(description="How many copies there are and how each lies; null: each on the fewest GPUs.")
    ] = None
    units_per_second: UnitsPerSecond | None = None


class Measured(_Rate, tag="measured", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The caller's own figure for the whole option, in the unit of the work unless `unit` says otherwise."""

    units_per_second: UnitsPerSecond
    unit: WorkUnit | None = None
    family: Family = Family.COMMUNITY
    prediction: Predicted | None = None


class Reported(_Rate, tag="report", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Raw output of a benchmark that ran on the whole option."""

    tool: Tool
    text: ReportText
    prediction: Predicted | None = None


class Rent(StrEnum):
    """How a machine is rented: at will, interruptible, or committed for a term."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"


class Reserved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A committed price per instance; every hour of the term is paid, used or not."""

    usd_per_hour: PerHour
    months: Annotated[int, Meta(ge=1, le=120)] = 1


class Startup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens, billed, before the first unit of work: boot, pull images and weights, load.

    The pull goes at `network_gb_s`, else at the offer's, else at one gigabit per second.
    """

    boot_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    pull_gb: Gigabytes = 0.0
    network_gb_s: Annotated[float, Meta(ge=1e-4, le=10**4, description="GB (10^9 bytes) per second.")] | None = None
    load_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 0.0


class Option(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column of the comparison.

    `count` is how many GPUs do the work (where null: as many as the instance has); the throughput is that of all of
    them. `charges` and `startup` left out are those of the offer and provider, or defaults that are echoed.
    """

    label: Label
    price: Price
    card: CardText | None = None
    count: Annotated[int, Meta(ge=1, le=65_536, description="GPUs that do the work.")] | None = None
    throughput: Measured | Reported | Predicted | None = None
    rent: Rent = Rent.ON_DEMAND
    spot: Spot | None = None
    reserved: Reserved | None = None
    charges: Charges = Charges()
    startup: Startup | None = None
