"""How options stand to one another: by the hour, by the work done, in time, and where these disagree."""

from __future__ import annotations

from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.checks import currencies
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice


def by_hourly_rate(options: tuple[OptionCost, ...]) -> tuple[str, ...]:
    """Labels of what has an hourly rate, cheapest hour of all its machines first."""
    hourly = [
        (option.price.usd_per_hour * (option.instances or 1), option.label)
        for option in options
        if option.price.usd_per_hour is not None
    ]
    return tuple(label for _, label in sorted(hourly, key=lambda pair: pair[0]))


def by_cost(options: tuple[OptionCost, ...]) -> tuple[str, ...]:
    """All labels, cheapest unit of work first."""
    return tuple(option.label for option in sorted(options, key=lambda option: option.usd_per_unit))


def notices(options: tuple[OptionCost, ...], hourly: tuple[str, ...], cost: tuple[str, ...]) -> list[Notice]:
    """That the cheaper hour is not the cheaper work, and that the first place is not certain."""
    found = []
    if hourly != tuple(label for label in cost if label in set(hourly)):
        first = next(label for label in cost if label in set(hourly))
        found.append(notice(NoticeCode.RANKS_DIFFER, Severity.INFO, cheapest_by_hour=hourly[0], cheapest_by_job=first))
    named = {option.label: option for option in options}
    found += _in_time(named, cost)
    if len(cost) > 1:
        first_one, second = named[cost[0]], named[cost[1]]
        if first_one.total.high_usd / first_one.units > second.total.low_usd / second.units:
            found.append(notice(NoticeCode.RANK_NOT_CERTAIN, Severity.INFO, first=first_one.label, second=second.label))
    return found


def _in_time(named: dict[str, OptionCost], cost: tuple[str, ...]) -> list[Notice]:
    """That the cheapest ends too late, and which does not; of an API nobody knows how long it takes."""
    if not _is_late(named[cost[0]]):
        return []
    for label in cost:
        if named[label].hours is not None and not _is_late(named[label]):
            return [notice(NoticeCode.CHEAPEST_TOO_LATE, Severity.WARNING, label=cost[0], other=label)]
    return [notice(NoticeCode.NONE_IN_TIME, Severity.WARNING)]


def _is_late(option: OptionCost) -> bool:
    return any(each.code is NoticeCode.DEADLINE_MISSED for each in option.notices)


def of_rates(question: CostQuestion) -> list[Notice]:
    """That one currency was given several rates: each counts where it stands, and totals mix them."""
    rates: dict[str, set[float]] = {}
    for _, currency in currencies(question):
        rates.setdefault(currency.code, set()).add(currency.usd)
    return [
        notice(NoticeCode.CURRENCY_RATES_DIFFER, Severity.CAUTION, currency=code)
        for code, several in rates.items()
        if len(several) > 1
    ]
