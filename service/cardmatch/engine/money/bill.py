"""The arithmetic of a bill: hours, then what they cost, then everything that is paid beside them.

cost = Σ instances · price · ⌈start-up + work · (1 + interruptions) + idle⌉ + storage + traffic + addresses + set-up +
tax, over all runs that were started; failed ones are paid like the others.
"""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.money.answer import LineCode
from cardmatch.engine.money.plan import ApiPlan, Plan
from cardmatch.engine.money.spot import overhead_share, restart_share
from cardmatch.engine.money.traffic import egress_usd

_SECONDS = 3600.0
# Hours are sums of floats: a run of exactly one increment must not be billed as two.
_ROUNDING = 1e-9

RENT = (
    LineCode.WORK,
    LineCode.STARTUP,
    LineCode.IDLE,
    LineCode.INTERRUPTIONS,
    LineCode.BILLING_ROUNDING,
    LineCode.FAILED_RUNS,
    LineCode.UNUSED_GPUS,
    LineCode.COMMITMENT,
)
BESIDE = (
    LineCode.STORAGE,
    LineCode.STORAGE_STOPPED,
    LineCode.EGRESS,
    LineCode.INGRESS,
    LineCode.PUBLIC_IP,
    LineCode.SETUP,
)
LINES = (*RENT, *BESIDE, LineCode.TAX, LineCode.STRANDED_BALANCE, LineCode.WAITING)
API_LINES = (LineCode.API_INPUT, LineCode.API_OUTPUT, LineCode.TAX)
Amounts = tuple[float, ...]


class Hours(msgspec.Struct, frozen=True, gc=False):
    """Where the time goes, of one instance: over all runs of a job, or in a month over all replicas of a service.

    `starts` counts failed runs too; `wall` is from start to end; `committed` is paid beyond what is billed.
    """

    units: float
    utilisation: float
    replicas: int
    starts: float
    work: float
    startup: float
    idle: float
    interrupted: float
    rounding: float
    failed: float
    wall: float
    billed: float
    committed: float


class Bill(msgspec.Struct, frozen=True, gc=False):
    """Amounts in the order of `LINES` and the hours behind them; `rent_usd` is what grows with the hour's price."""

    amounts: Amounts
    total_usd: float
    rent_usd: float
    hours: Hours


def billed_hours(hours: float, increment: float, minimum: float = 0.0) -> float:
    """*hours* rounded up to whole billing increments, at least *minimum*."""
    return math.ceil(max(hours, minimum) / increment - _ROUNDING) * increment


def bill(plan: Plan) -> Bill:
    """What the plan costs: for a job all of it, for a service a month."""
    hours = _service_hours(plan) if plan.service else _job_hours(plan)
    rent, beside = _rent(plan, hours), _beside(plan, hours)
    rent_usd = sum(rent)
    charged = rent_usd + sum(beside)
    tax = charged * plan.tax_share
    invoice = charged + tax
    # What a month leaves of a balance is spent in the next.
    stranded = 0.0 if plan.service else max(plan.min_top_up_usd - invoice, 0.0)
    waiting = 0.0 if plan.service else plan.time_value_usd_per_hour * (hours.wall + plan.lead_hours)
    amounts = (*rent, *beside, tax, stranded, waiting)
    return Bill(amounts, invoice + stranded + waiting, rent_usd * (1 + plan.tax_share), hours)


def more_if_billed_by(plan: Plan, paid: Bill, increment_hours: float) -> float:
    """Dollars that *increment_hours* instead of the plan's own add to its bill *paid*."""
    if plan.service or plan.committed_hours or plan.min_top_up_usd:
        return bill(msgspec.structs.replace(plan, increment_hours=increment_hours)).total_usd - paid.total_usd
    starts = paid.hours.starts
    longer = billed_hours(paid.hours.wall / starts, increment_hours, plan.minimum_hours) * starts - paid.hours.billed
    return longer * plan.instances * (plan.usd_per_hour + plan.public_ip_usd_per_hour) * (1 + plan.tax_share)


def _job_hours(plan: Plan) -> Hours:
    work = plan.units / plan.units_per_second / _SECONDS
    interrupted = work * overhead_share(plan.spot, plan.instances) if plan.spot else 0.0
    idle = work * (1 / plan.utilisation - 1) + plan.idle_hours
    run = plan.startup_hours + work + interrupted + idle
    billed = billed_hours(run, plan.increment_hours, plan.minimum_hours)
    runs = plan.runs
    starts = runs / (1 - plan.failed_share)
    committed = plan.committed_hours
    if committed:
        committed *= max(math.ceil(starts * billed / committed - _ROUNDING), 1)
    return Hours(
        units=plan.units * runs,
        utilisation=plan.utilisation,
        replicas=1,
        starts=starts,
        work=work * runs,
        startup=plan.startup_hours * runs,
        idle=idle * runs,
        interrupted=interrupted * runs,
        rounding=max(billed - run, 0.0) * runs,
        failed=billed * (starts - runs),
        wall=run * starts,
        billed=billed * starts,
        committed=max(committed - billed * starts, 0.0),
    )


def _service_hours(plan: Plan) -> Hours:
    capacity = plan.units_per_second * _SECONDS * plan.service_hours
    units = plan.units or capacity * plan.utilisation
    # Interrupted servers lose no work worth saving: what is paid is starting again, in which nothing is served.
    again = restart_share(plan.spot, plan.instances) if plan.spot else 0.0
    replicas = max(math.ceil(units / capacity * (1 + again) - _ROUNDING), 1)
    work = units / plan.units_per_second / _SECONDS
    up = plan.service_hours * replicas
    if plan.keep_warm:
        interrupted = up * again / (1 + again)
        starts, startup, idle = float(replicas), 0.0, max(up - work - interrupted, 0.0)
        billed = billed_hours(plan.service_hours, plan.increment_hours, plan.minimum_hours) * replicas
    else:
        interrupted = again * work
        starts, startup, idle = float(plan.starts), plan.startup_hours * plan.starts, 0.0
        session = (work + interrupted) / starts + plan.startup_hours
        billed = billed_hours(session, plan.increment_hours, plan.minimum_hours) * starts
    return Hours(
        units=units,
        utilisation=min(work / up, 1.0),
        replicas=replicas,
        starts=starts,
        work=work,
        startup=startup,
        idle=idle,
        interrupted=interrupted,
        rounding=max(billed - work - startup - idle - interrupted, 0.0),
        failed=0.0,
        wall=plan.service_hours,
        billed=billed,
        committed=max(plan.committed_hours * replicas - billed, 0.0),
    )


def _rent(plan: Plan, hours: Hours) -> Amounts:
    """What hours cost, in the order of `RENT`: on GPUs that work, on those that do not, and of a commitment."""
    hourly = plan.usd_per_hour * plan.instances
    used = hourly * plan.used_share
    warm = plan.keep_warm_usd_per_hour if plan.service and plan.keep_warm else None
    idle_hourly = hourly if warm is None else warm * plan.instances
    return (
        used * hours.work,
        used * hours.startup,
        idle_hourly * plan.used_share * hours.idle,
        used * hours.interrupted,
        used * hours.rounding,
        used * hours.failed,
        (hourly * (hours.billed - hours.idle) + idle_hourly * hours.idle) * (1 - plan.used_share),
        hourly * hours.committed,
    )


def _beside(plan: Plan, hours: Hours) -> Amounts:
    """What is paid beside hours, in the order of `BESIDE`: for a job over all runs, for a service over a month."""
    if plan.service:
        running, stopped, moved, entered = plan.service_hours, plan.month_hours - plan.service_hours, 1.0, 1.0
    else:
        running, stopped, moved, entered = hours.wall, plan.stopped_hours, plan.runs, hours.starts
    stored = plan.stored_gb / plan.month_hours
    return (
        stored * running * plan.storage_usd_per_gb_month,
        stored * max(stopped, 0.0) * plan.stopped_storage_usd_per_gb_month,
        egress_usd(plan.out_gb * moved, plan.included_egress_gb, plan.egress),
        plan.in_gb * entered * plan.ingress_usd_per_gb,
        plan.public_ip_usd_per_hour * plan.instances * hours.billed,
        plan.setup_usd * plan.instances * hours.replicas,
    )


def api_bill(plan: ApiPlan) -> Amounts:
    """What input and output tokens of all requests cost, those of failed runs included, in the order of `API_LINES`."""
    requests = plan.requests * plan.runs / (1 - plan.failed_share)
    read = requests * plan.prompt_tokens * plan.usd_per_input_token
    written = requests * plan.output_tokens * plan.usd_per_output_token
    return read, written, (read + written) * plan.tax_share
