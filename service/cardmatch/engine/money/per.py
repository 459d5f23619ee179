"""A total as people compare it: per unit, per million tokens, per thousand images, per run, per month."""

from __future__ import annotations

import msgspec

from cardmatch.engine.money.band import UsdBand, dollars
from cardmatch.engine.money.currency import Currency, ForeignAmount
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.work import Job
from cardmatch.engine.speed.throughput import WorkUnit

MOST_UNITS_PER_USD = 1e40
"""What is cheaper is free."""

_TOKENS = {WorkUnit.TOKEN, WorkUnit.OUTPUT_TOKEN, WorkUnit.TRAIN_TOKEN}


class Per(msgspec.Struct, frozen=True, gc=False):
    """Dollars per so much of the work; null where the work is not counted that way."""

    unit: float
    units_per_usd: float | None
    million_tokens: float | None
    thousand: float | None
    run: float | None
    month: float | None


def per(total_usd: float, units: float, question: CostQuestion) -> Per:
    """*total_usd* for *units*, per quantity; a job's per successful run, a service's per month."""
    each = total_usd / units
    tokens = question.work.unit in _TOKENS
    job = isinstance(question.work, Job)
    return Per(
        unit=each,
        units_per_usd=units / total_usd if total_usd > units / MOST_UNITS_PER_USD else None,
        million_tokens=each * 1e6 if tokens else None,
        thousand=None if tokens else each * 1e3,
        run=dollars(total_usd / question.runs) if job else None,
        month=None if job else dollars(total_usd),
    )


def foreign(total: UsdBand, currency: Currency | None) -> ForeignAmount | None:
    """*total* in *currency*, at the caller's rate."""
    if currency is None:
        return None
    return ForeignAmount(
        currency=currency.code,
        low=dollars(total.low_usd / currency.usd),
        expected=dollars(total.expected_usd / currency.usd),
        high=dollars(total.high_usd / currency.usd),
    )
