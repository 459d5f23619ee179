"""The figures of a comparison: what each option costs, line by line, and how the options stand to one another."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import Day
from cardmatch.engine.money.band import Dollars, UsdBand
from cardmatch.engine.money.currency import ForeignAmount
from cardmatch.engine.money.offer import PriceKind
from cardmatch.engine.money.option import Rent
from cardmatch.engine.money.purchase import OwnedHour
from cardmatch.engine.money.question import SweepParameter
from cardmatch.engine.speed.reports.report import Family, Tool
from cardmatch.engine.speed.throughput import Throughput
from cardmatch.engine.terms.notice import Assumption, Notice, Question

MOST_HOURS = 1e12
MOST_REPLICAS = 1_000_000
MOST_RATIO = 1e15
MOST_MONTHS = 1200
"""What pays for itself after a hundred years never does."""

HoursSpent = Annotated[float, Meta(ge=0, le=MOST_HOURS, description="Hours.")]
Instances = Annotated[int, Meta(ge=1, le=65_536)]
Gpus = Annotated[int, Meta(ge=0, le=10**8)]
Share = Annotated[float, Meta(ge=0, le=1)]
Months = Annotated[float, Meta(ge=0, le=MOST_MONTHS)]
Ratio = Annotated[float, Meta(ge=0, le=MOST_RATIO)]
"""One thing over another; what would be more is given as the most."""

Amount = Annotated[float, Meta(ge=0, le=1e24, description="Units of work.")]
UnitsPerDollar = Annotated[float, Meta(ge=0, le=1e40)]
PerUnit = Annotated[float, Meta(ge=0, le=1e30, description="US dollars.")]


class LineCode(StrEnum):
    """What a dollar is paid for. Lines of hours are of the GPUs that work; `unused_gpus` has those that do not."""

    WORK = "work"
    STARTUP = "startup"
    IDLE = "idle"
    INTERRUPTIONS = "interruptions"
    BILLING_ROUNDING = "billing_rounding"
    FAILED_RUNS = "failed_runs"
    UNUSED_GPUS = "unused_gpus"
    COMMITMENT = "commitment"
    STORAGE = "storage"
    STORAGE_STOPPED = "storage_stopped"
    EGRESS = "egress"
    INGRESS = "ingress"
    PUBLIC_IP = "public_ip"
    SETUP = "setup"
    TAX = "tax"
    STRANDED_BALANCE = "stranded_balance"
    WAITING = "waiting"
    API_INPUT = "api_input"
    API_OUTPUT = "api_output"


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of the bill."""

    code: LineCode
    usd: Dollars


class HoursOfWork(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Where the hours go, of one instance: for a job of all runs together, for a service of a month.

    `wall_hours` is how long it takes from start to end, `billed_hours` what the provider counts.
    """

    work_hours: HoursSpent
    startup_hours: HoursSpent
    idle_hours: HoursSpent
    interruption_hours: HoursSpent
    failed_hours: HoursSpent
    wall_hours: HoursSpent
    billed_hours: HoursSpent


class PriceUsed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The price that was reckoned with, per instance and hour, and where it comes from."""

    kind: str
    usd_per_hour: Dollars | None
    gpus_per_instance: Instances | None = None
    rent: Rent | None = None
    offer: str | None = None
    provider: str | None = None
    price_kind: PriceKind | None = None
    as_of: Day | None = None
    age_days: Annotated[int, Meta(ge=0, le=10**6)] | None = None
    source: str | None = None


class RateUsed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The throughput that was reckoned with, the family of the benchmark, and the prediction beside a measurement."""

    kind: str
    throughput: Throughput
    tool: Tool | None = None
    family: Family | None = None
    predicted: Throughput | None = None


class Prepaid(msgspec.Struct, frozen=True, kw_only=True):
    """What to pay in so that a run is not stopped for lack of balance, and what of it may be left over."""

    top_up_usd: Dollars
    margin_usd: Dollars
    stranded_usd: Dollars


class SpotFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The same work on interruptible machines."""

    usd_per_hour: Dollars
    checkpoint_interval_hours: HoursSpent | None
    overhead_share: Ratio
    expected_interruptions: Ratio
    expected_usd: Dollars
    cheaper: Annotated[bool | None, Meta(description="Than on demand; null where no such price is known.")]
    break_even_interruptions_per_hour: Ratio | None


class BuyFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Owning the same card instead: utilisation is the share of its life above which owning is cheaper than renting.

    `expected_utilisation` is how much a service is up, or what the purchase of a job states; where it is null, months
    are those of a machine that is always used.
    """

    hour: OwnedHour
    rent_usd_per_gpu_hour: Dollars
    low_utilisation: Ratio
    utilisation: Ratio
    high_utilisation: Ratio
    expected_utilisation: Share | None
    pays: bool | None
    months: Annotated[Months | None, Meta(description="Until the rent saved has paid for it; null: not in its life.")]


class ReservedFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A commitment pays where the machine is used for more than this share of the term."""

    utilisation: Ratio
    expected_utilisation: Share
    pays: bool


class ApiFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Running it oneself against one token API: above this utilisation, or this many units a month, it is cheaper."""

    label: str
    utilisation: Ratio
    units_per_month: Amount
    cheaper_at_full_use: bool


class BreakEven(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Where the alternatives of this option cost the same."""

    buy: BuyFigures | None = None
    spot: SpotFigures | None = None
    reserved: ReservedFigures | None = None
    token_api: tuple[ApiFigures, ...] = ()


class OptionCost(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one option costs. Lines add up to `total.expected_usd`; `invoice_usd` leaves out the value of waiting."""

    label: str
    card: str | None
    count: Instances | None
    instances: Instances | None
    unused_gpus: Gpus
    replicas: Annotated[int, Meta(ge=1, le=MOST_REPLICAS)]
    price: PriceUsed
    rate: RateUsed | None
    units: Amount
    utilisation: Share | None
    hours: HoursOfWork | None
    lines: tuple[Line, ...]
    total: UsdBand
    invoice_usd: Dollars
    usd_per_unit: PerUnit
    units_per_usd: UnitsPerDollar | None
    usd_per_million_tokens: PerUnit | None
    usd_per_thousand: PerUnit | None
    usd_per_run: Dollars | None
    usd_per_month: Dollars | None
    in_currency: ForeignAmount | None
    prepaid: Prepaid | None
    owned: OwnedHour | None
    break_even: BreakEven
    notices: tuple[Notice, ...]


class SweepPoint(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Every option with the parameter at `value`; `cheapest` costs least per unit."""

    value: Annotated[float, Meta(ge=0, le=10**18)]
    total_usd: dict[str, Dollars]
    usd_per_unit: dict[str, PerUnit]
    cheapest: str


class SweepFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the comparison as one parameter moves, with the labels that are cheapest along the way."""

    parameter: SweepParameter
    points: tuple[SweepPoint, ...]


class CostFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison. Ranks name labels, best first; by the hour only what has an hourly rate."""

    options: tuple[OptionCost, ...]
    rank_by_hourly_rate: tuple[str, ...]
    rank_by_cost: tuple[str, ...]
    sweep: SweepFigures | None
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
