"""What is to be done: a job that ends, or a service that runs all month; and the data that goes with it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import Gigabytes
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.units import Tokens

WORK = "/work"
"""JSON Pointer of the work in a request."""

Units = Annotated[float, Meta(ge=1e-6, le=10**18, description="Units of work.")]
Hours = Annotated[float, Meta(ge=0, le=10**6, description="Hours.")]
LONGEST_MONTH_HOURS = 744
# Hours are divided by it, so it stops short of zero: a machine that works a minute a week.
Utilisation = Annotated[float, Meta(ge=1e-4, le=1, description="Share of the time in which the GPUs work.")]

MonthHours = Annotated[
    float, Meta(ge=0.01, le=LONGEST_MONTH_HOURS, description="Hours a month; all of them where null.")
]


class Job(msgspec.Struct, tag="job", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work that ends: `units` of it a run. `utilisation` counts pauses within the run, `idle_hours` those around it.

    Where the utilisation is null, a job keeps its machine busy.
    `deadline_hours` is the wall clock that all runs, failed ones included, may take one after the other.
    """

    unit: WorkUnit
    units: Units
    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    utilisation: Utilisation | None = None
    idle_hours: Hours = 0.0
    deadline_hours: Annotated[float, Meta(gt=0, le=10**6, description="Hours.")] | None = None


class Service(msgspec.Struct, tag="service", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work that keeps coming, reckoned by the month.

    The load is `utilisation` (share of the hours spent working) or `units_per_month`, one of the two. Kept warm, idle
    hours are paid; otherwise the machine starts `starts_per_month` times (once a day where null) and is paid while it
    starts and works.
    """

    unit: WorkUnit
    hours: MonthHours | None = None
    utilisation: Utilisation | None = None
    units_per_month: Units | None = None
    keep_warm: bool = True
    starts_per_month: Annotated[int, Meta(ge=1, le=10**6)] | None = None
    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None


Work = Job | Service


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Data that moves and stays: per run of a job, per month of a service.

    `stopped_hours` is how long it is kept after a job while the machine is off.
    """

    in_gb: Gigabytes = 0.0
    out_gb: Gigabytes = 0.0
    stored_gb: Gigabytes = 0.0
    stopped_hours: Hours = 0.0
