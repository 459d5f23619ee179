"""From what is known of an option to the plan that a bill is made of."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.money.charges import Terms
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.option import Option, Rent, Startup
from cardmatch.engine.money.owning import HOURS_PER_WEEK
from cardmatch.engine.money.plan import Plan
from cardmatch.engine.money.purchase import OwnedHour
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.quote import Quote
from cardmatch.engine.money.spot import Spot
from cardmatch.engine.money.work import WORK, Job, Service, Work
from cardmatch.engine.speed.throughput import Throughput
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Scalar

NETWORK_GB_S = 0.125
"""One gigabit per second, where neither request nor offer says how fast the machine pulls."""

STARTS_PER_MONTH = 30
_SECONDS = 3600.0

Assumed = list[tuple[str, Scalar]]
"""Pointers and values of defaults that were filled in; relative to the option, or absolute under `WORK`."""


class Machines(msgspec.Struct, frozen=True, gc=False):
    """GPUs that work, machines that hold them, and GPUs of those machines that do not work."""

    gpus: int
    instances: int
    unused: int


class Known(msgspec.Struct, frozen=True, gc=False):
    """What was looked up for an option."""

    quote: Quote
    terms: Terms
    machines: Machines
    throughput: Throughput
    owned: OwnedHour | None


def plan_of(question: CostQuestion, option: Option, known: Known, assumed: Assumed) -> Plan:
    """The plan at the expected rate; defaults go to *assumed*. Raises Invalid with pointers into the option."""
    quote, terms, machines, owned = known.quote, known.terms, known.machines, known.owned
    data, work = question.data, question.work
    month = _month_hours(work, terms)
    if isinstance(work, Job):
        course = _of_job(question, work, option, owned, month)
    else:
        course = _of_service(work, option, owned, month, assumed)
    return Plan(
        **course,
        owned=owned is not None,
        units_per_second=known.throughput.expected_units_per_second,
        usd_per_hour=_usd_per_hour(option, quote, owned),
        instances=machines.instances,
        used_share=machines.gpus / (machines.gpus + machines.unused),
        month_hours=month,
        startup_hours=_startup_hours(option.startup, quote.offer, assumed),
        keep_warm_usd_per_hour=terms.keep_warm_usd_per_hour,
        increment_hours=terms.increment_seconds / _SECONDS,
        minimum_hours=terms.minimum_seconds / _SECONDS,
        spot=_spot(option, question) if option.rent is Rent.SPOT else None,
        in_gb=data.in_gb,
        out_gb=data.out_gb,
        stored_gb=data.stored_gb,
        stopped_hours=data.stopped_hours,
        egress=terms.egress or (),
        included_egress_gb=terms.included_egress_gb,
        ingress_usd_per_gb=terms.ingress_usd_per_gb,
        storage_usd_per_gb_month=terms.storage_usd_per_gb_month or 0.0,
        stopped_storage_usd_per_gb_month=terms.stopped_storage_usd_per_gb_month or 0.0,
        public_ip_usd_per_hour=terms.public_ip_usd_per_hour,
        setup_usd=terms.setup_usd,
        tax_share=terms.tax_share,
        min_top_up_usd=terms.min_top_up_usd if terms.prepaid else 0.0,
    )


def _month_hours(work: Work, terms: Terms) -> float:
    """Hours of the month: a provider's figure is the most it bills; where nobody has one, as long as the service."""
    asked = work.hours if isinstance(work, Service) else None
    if asked is None or terms.month_known:
        return terms.hours_per_month
    return max(asked, terms.hours_per_month)


def _of_job(question: CostQuestion, work: Job, option: Option, owned: OwnedHour | None, month: float) -> dict[str, Any]:
    months = option.reserved.months if option.reserved is not None and option.rent is Rent.RESERVED else 0
    return {
        "service": False,
        "units": work.units,
        "utilisation": 1.0 if work.utilisation is None else work.utilisation,
        "idle_hours": work.idle_hours,
        "runs": float(question.runs),
        "failed_share": question.failed_share,
        "committed_hours": months * month,
        "time_value_usd_per_hour": question.time_value_usd_per_hour,
        "lead_hours": owned.lead_time_weeks * HOURS_PER_WEEK if owned is not None else 0.0,
    }


def _of_service(
    work: Service, option: Option, owned: OwnedHour | None, month: float, assumed: Assumed
) -> dict[str, Any]:
    """A month; what is owned or committed is paid for all of it."""
    if not work.keep_warm and work.starts_per_month is None:
        assumed.append((f"{WORK}/starts_per_month", STARTS_PER_MONTH))
    if work.hours is None:
        assumed.append((f"{WORK}/hours", month))
    whole = owned is not None or option.rent is Rent.RESERVED
    return {
        "service": True,
        "units": work.units_per_month or 0.0,
        "utilisation": work.utilisation or 1.0,
        "service_hours": min(work.hours or month, month),
        "keep_warm": work.keep_warm or whole,
        "starts": work.starts_per_month or STARTS_PER_MONTH,
        "committed_hours": month if whole else 0.0,
    }


def _usd_per_hour(option: Option, quote: Quote, owned: OwnedHour | None) -> float:
    if owned is not None and option.rent is not Rent.ON_DEMAND:
        raise refusal(FaultCode.CONFLICTS_WITH, "/rent", field="price")
    if option.rent is Rent.RESERVED:
        if option.reserved is None:
            raise refusal(FaultCode.NEEDS_FIELD, "/rent", field="reserved")
        return option.reserved.usd_per_hour
    if option.rent is Rent.SPOT:
        if quote.spot_usd_per_hour is None:
            raise refusal(FaultCode.SPOT_PRICE_UNKNOWN, "/rent")
        return quote.spot_usd_per_hour
    if quote.usd_per_hour is None:
        raise refusal(FaultCode.ONLY_SPOT, "/rent")
    return quote.usd_per_hour


def _spot(option: Option, question: CostQuestion) -> Spot:
    spot = option.spot or question.spot
    if spot is None:
        raise refusal(FaultCode.NEEDS_FIELD, "/rent", field="spot")
    return spot


def _startup_hours(startup: Startup | None, offer: Offer | None, assumed: Assumed) -> float:
    if startup is None:
        assumed.append(("/startup/boot_seconds", 0.0))
        return 0.0
    speed = startup.network_gb_s or (offer.network_gb_s if offer else None)
    if speed is None:
        speed = NETWORK_GB_S
        if startup.pull_gb:
            assumed.append(("/startup/network_gb_s", speed))
    return (startup.boot_seconds + startup.pull_gb / speed + startup.load_seconds) / _SECONDS
