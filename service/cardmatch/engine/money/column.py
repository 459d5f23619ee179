"""One column of the answer: an option by the hour, from its bill to everything that is said of it."""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.money.answer import BreakEven, HoursOfWork, Line, LineCode, OptionCost, Prepaid, PriceUsed
from cardmatch.engine.money.band import UsdBand, dollars, spread
from cardmatch.engine.money.bill import LINES, Bill, Hours, bill
from cardmatch.engine.money.break_even import ApiPrices, Filled, break_even
from cardmatch.engine.money.per import foreign, per
from cardmatch.engine.money.price import PurchasePrice
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.setting import Market, Setting
from cardmatch.engine.money.spot import interval_hours
from cardmatch.engine.money.unknown import Unknown, unknown
from cardmatch.engine.money.work import Job
from cardmatch.engine.terms.band import Basis, weakest
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_SECONDS = 3600.0
_WAITING = LINES.index(LineCode.WAITING)
NEAR_CAPACITY = 0.85
"""Above it queues grow faster than the load: latency figures of the speed model end there."""

NINE_IN_TEN = 1.645
FIRST_ORDER = 0.5
"""Young's interval is a first-order figure; with half the time lost to interruptions it no longer holds."""


class Column(msgspec.Struct, frozen=True, gc=False):
    """An option's figures, what missing facts could add to its cost, and what buying was assumed."""

    cost: OptionCost
    unknown: Unknown
    bought: Filled


def column(setting: Setting, question: CostQuestion, market: Market, apis: ApiPrices) -> Column:
    """Everything the answer says of the option that *setting* describes."""
    paid = bill(setting.plan)
    missing = unknown(setting, paid)
    compared, bought = break_even(setting, question, market, paid, apis)
    return Column(_option_cost(setting, question, paid, compared, missing), missing, bought)


def _option_cost(
    setting: Setting, question: CostQuestion, paid: Bill, compared: BreakEven, missing: Unknown
) -> OptionCost:
    lines = tuple([Line(code, dollars(usd)) for code, usd in zip(LINES, paid.amounts, strict=True) if usd])
    total = _total(setting, paid, sum([line.usd for line in lines]), missing)
    waiting = dollars(paid.amounts[_WAITING])
    each = per(paid.total_usd, paid.hours.units, question)
    return OptionCost(
        label=setting.option.label,
        card=setting.card,
        count=setting.gpus,
        instances=setting.plan.instances,
        unused_gpus=setting.unused_gpus,
        replicas=paid.hours.replicas,
        price=_price(setting),
        rate=setting.rating.used,
        units=paid.hours.units,
        utilisation=paid.hours.utilisation,
        hours=_hours(paid.hours),
        lines=lines,
        total=total,
        invoice_usd=dollars(total.expected_usd - waiting),
        usd_per_unit=each.unit,
        units_per_usd=each.units_per_usd,
        usd_per_million_tokens=each.million_tokens,
        usd_per_thousand=each.thousand,
        usd_per_run=each.run,
        usd_per_month=each.month,
        in_currency=foreign(total, question.currency),
        prepaid=_prepaid(setting, total, lines, waiting),
        owned=setting.owned,
        break_even=compared,
        notices=(
            *setting.notices,
            *_notices(setting, question, paid),
            *_of_comparison(setting, question, compared, paid.hours.replicas),
        ),
    )


def _total(setting: Setting, paid: Bill, expected: float, missing: Unknown) -> UsdBand:
    """The band of independent errors: the price, the rate, and what is not known of the terms."""
    quote, rate = setting.quote, setting.rating.used.throughput
    ups, downs = [paid.rent_usd * quote.up], [paid.rent_usd * quote.down]
    basis = weakest(quote.basis, rate.basis, Basis.EXTRAPOLATED) if missing else weakest(quote.basis, rate.basis)
    if rate.low_units_per_second < rate.high_units_per_second:
        slow = msgspec.structs.replace(setting.plan, units_per_second=rate.low_units_per_second)
        fast = msgspec.structs.replace(setting.plan, units_per_second=rate.high_units_per_second)
        ups.append(max(bill(slow).total_usd - paid.total_usd, 0.0))
        downs.append(max(paid.total_usd - bill(fast).total_usd, 0.0))
    ups.extend(missing.values())
    return spread(expected, downs, ups, basis)


def _price(setting: Setting) -> PriceUsed:
    quote, offer = setting.quote, setting.quote.offer
    return PriceUsed(
        kind=quote.kind,
        usd_per_hour=setting.plan.usd_per_hour,
        gpus_per_instance=(setting.gpus + setting.unused_gpus) // setting.plan.instances,
        rent=setting.option.rent if setting.owned is None else None,
        offer=offer.id if offer else None,
        provider=offer.provider if offer else None,
        price_kind=offer.price_kind if offer else None,
        as_of=offer.as_of if offer else None,
        age_days=quote.age_days,
        source=offer.source if offer else None,
    )


def _hours(hours: Hours) -> HoursOfWork:
    return HoursOfWork(
        work_hours=hours.work,
        startup_hours=hours.startup,
        idle_hours=hours.idle,
        interruption_hours=hours.interrupted,
        failed_hours=hours.failed,
        wall_hours=hours.wall,
        billed_hours=hours.billed,
    )


def _prepaid(setting: Setting, total: UsdBand, lines: tuple[Line, ...], waiting: float) -> Prepaid | None:
    """What a balance must hold: the upper end of the bill, and what the provider wants to see left at the end."""
    if not setting.terms.prepaid:
        return None
    hourly = setting.plan.usd_per_hour * setting.plan.instances
    margin = dollars(hourly * setting.terms.auto_stop_seconds / _SECONDS)
    stranded = sum(line.usd for line in lines if line.code is LineCode.STRANDED_BALANCE)
    return Prepaid(
        top_up_usd=dollars(max(setting.terms.min_top_up_usd, total.high_usd - waiting + margin)),
        margin_usd=margin,
        stranded_usd=stranded,
    )


def _notices(setting: Setting, question: CostQuestion, paid: Bill) -> list[Notice]:
    found = _of_time(setting, question, paid)
    if paid.hours.replicas > 1:
        found.append(notice(NoticeCode.REPLICAS_NEEDED, Severity.INFO, replicas=paid.hours.replicas))
    if setting.plan.service and paid.hours.utilisation > NEAR_CAPACITY:
        busy, limit = 100 * paid.hours.utilisation, 100 * NEAR_CAPACITY
        found.append(notice(NoticeCode.SERVICE_NEAR_CAPACITY, Severity.CAUTION, busy_percent=busy, limit_percent=limit))
    if setting.plan.spot is not None and paid.hours.interrupted > FIRST_ORDER * paid.hours.work:
        lost = 100 * paid.hours.interrupted / paid.hours.work
        found.append(notice(NoticeCode.SPOT_THRASHES, Severity.WARNING, lost_percent=lost))
    if setting.plan.service and setting.plan.setup_usd:
        once = setting.plan.setup_usd * setting.plan.instances * paid.hours.replicas
        found.append(notice(NoticeCode.SETUP_PAID_ONCE, Severity.INFO, setup_usd=once))
    return found + _of_owning(setting)


def _of_comparison(setting: Setting, question: CostQuestion, compared: BreakEven, replicas: int) -> list[Notice]:
    """What was to be compared and could not be, and what buying really means."""
    found: list[Notice] = []
    if setting.owned is not None:
        return found
    gpus = setting.gpus * replicas
    if question.purchase is not None and compared.buy is None:
        found.append(notice(NoticeCode.BUY_NOT_COMPARED, Severity.INFO))
    if compared.buy is not None and compared.buy.hour.gpus_per_machine > gpus:
        whole = compared.buy.hour
        params: dict[str, float] = {"gpus": whole.gpus_per_machine, "capex_usd": whole.capex_usd, "count": gpus}
        found.append(notice(NoticeCode.BOUGHT_WHOLE, Severity.CAUTION, **params))
    if (setting.option.spot or question.spot) is not None and compared.spot is None:
        found.append(notice(NoticeCode.SPOT_NOT_COMPARED, Severity.INFO))
    return found


def _of_owning(setting: Setting) -> list[Notice]:
    found, price = [], setting.option.price
    if isinstance(price, PurchasePrice) and price.utilisation is None and not setting.plan.service:
        found.append(notice(NoticeCode.OWNED_AND_ALWAYS_BUSY, Severity.CAUTION))
    if setting.owned is not None and setting.owned.lead_time_weeks:
        found.append(notice(NoticeCode.LEAD_TIME, Severity.INFO, weeks=setting.owned.lead_time_weeks))
    return found


def _of_time(setting: Setting, question: CostQuestion, paid: Bill) -> list[Notice]:
    """Whether the deadline holds: at the expected rate, and at the slow end with unlucky interruptions.

    What is bought must arrive first.
    """
    work = question.work
    if not isinstance(work, Job) or work.deadline_hours is None:
        return []
    lead = setting.plan.lead_hours
    wall, deadline = paid.hours.wall + lead, work.deadline_hours
    if wall > deadline:
        return [notice(NoticeCode.DEADLINE_MISSED, Severity.WARNING, wall_hours=wall, deadline_hours=deadline)]
    rate = setting.rating.used.throughput
    slow = msgspec.structs.replace(setting.plan, units_per_second=rate.low_units_per_second)
    late = bill(slow).hours.wall + lead + _unlucky_hours(setting, wall - lead)
    if late > deadline:
        return [notice(NoticeCode.DEADLINE_AT_RISK, Severity.CAUTION, wall_hours=late, deadline_hours=deadline)]
    return []


def _unlucky_hours(setting: Setting, wall: float) -> float:
    """What more interruptions than expected take, nine in ten: their number scatters by its root."""
    spot, machines = setting.plan.spot, setting.plan.instances
    if spot is None or spot.interruptions_per_hour <= 0:
        return 0.0
    expected = spot.interruptions_per_hour * machines * wall
    each = interval_hours(spot, machines) / 2 + spot.restart_seconds / _SECONDS
    return NINE_IN_TEN * math.sqrt(expected) * each
