"""How options stand to one another: by the hour, by the work done, and where the two disagree."""

from __future__ import annotations

from cardmatch.engine.money.answer import OptionCost
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
    if len(cost) > 1:
        named = {option.label: option for option in options}
        first_one, second = named[cost[0]], named[cost[1]]
        if first_one.total.high_usd / first_one.units > second.total.low_usd / second.units:
            found.append(notice(NoticeCode.RANK_NOT_CERTAIN, Severity.INFO, first=first_one.label, second=second.label))
    return found
