"""Where an option costs the same as its alternatives: buying the card, spot, a commitment, a token API."""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.money.answer import (
    MOST_HOURS,
    MOST_RATIO,
    ApiFigures,
    BreakEven,
    BuyFigures,
    ReservedFigures,
    SpotFigures,
)
from cardmatch.engine.money.band import MOST_DOLLARS
from cardmatch.engine.money.bill import Bill, bill
from cardmatch.engine.money.owning import LIFE_YEARS, months_to_pay_off, owned_hour
from cardmatch.engine.money.plan import Plan
from cardmatch.engine.money.purchase import Purchase
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.setting import Market, Setting
from cardmatch.engine.money.spot import Spot, break_even_interruptions, interval_hours, overhead_share, restart_share
from cardmatch.engine.terms.fault import Invalid

_SECONDS = 3600.0
_ROUNDING = 1e-9
ApiPrices = tuple[tuple[str, float], ...]
"""Labels of token APIs, and what a unit of work costs there in dollars."""

Filled = tuple[tuple[str, float], ...]
"""Fields of a purchase that were filled in, and with what."""

Bought = tuple[BuyFigures, Filled]
NOTHING_TO_COMPARE = BreakEven()


def break_even(
    setting: Setting, question: CostQuestion, market: Market, paid: Bill, apis: ApiPrices
) -> tuple[BreakEven, Filled]:
    """Every comparison that the request has figures for, and the defaults of the purchase in it."""
    spot = setting.option.spot or question.spot
    if not apis and spot is None and question.purchase is None and setting.option.reserved is None:
        return NOTHING_TO_COMPARE, ()
    bought = _buy(setting, question.purchase, market, paid)
    compared = BreakEven(
        buy=bought[0] if bought else None,
        spot=_spot(setting, spot),
        reserved=_reserved(setting),
        token_api=tuple(_api(setting.plan, label, each) for label, each in apis if each > 0),
    )
    return compared, bought[1] if bought else ()


def _buy(setting: Setting, stated: Purchase | None, market: Market, paid: Bill) -> Bought | None:
    """Owning at full use over rent is the utilisation at which both cost the same; and what was assumed of it."""
    if stated is None or setting.owned is not None:
        return None
    ownership = market.ownership.get(setting.card) if setting.card is not None else None
    try:
        hour, defaults = owned_hour(stated, market.ownership_costs, ownership)
    except Invalid:
        return None
    plan = setting.plan
    rent = plan.usd_per_hour * plan.instances / (setting.gpus + setting.unused_gpus)
    used = min(paid.hours.billed / paid.hours.replicas / plan.month_hours, 1.0) if plan.service else stated.utilisation
    share = _ratio(hour.expected_usd, rent)
    figures = BuyFigures(
        hour=hour,
        rent_usd_per_gpu_hour=rent,
        low_utilisation=_ratio(hour.low_usd, rent),
        utilisation=share,
        high_utilisation=_ratio(hour.high_usd, rent),
        expected_utilisation=used,
        pays=None if used is None else used > share,
        months=months_to_pay_off(
            hour, rent, plan.month_hours * (1.0 if used is None else used), stated.life_years or LIFE_YEARS
        ),
    )
    return figures, tuple(defaults)


def _spot(setting: Setting, figures: Spot | None) -> SpotFigures | None:
    price, on_demand_price = setting.quote.spot_usd_per_hour, setting.quote.usd_per_hour
    if figures is None or price is None:
        return None
    plan = setting.plan
    spot_bill = bill(msgspec.structs.replace(plan, usd_per_hour=price, spot=figures, committed_hours=0.0))
    cheaper, bearable = None, None
    if on_demand_price is not None:
        at_will = msgspec.structs.replace(plan, usd_per_hour=on_demand_price, spot=None, committed_hours=0.0)
        cheaper = spot_bill.total_usd < bill(at_will).total_usd
        if not plan.service:
            bearable = break_even_interruptions(figures, plan.instances, price, on_demand_price)
    share = restart_share if plan.service else overhead_share
    interval = interval_hours(figures, plan.instances)
    running = spot_bill.hours.work + spot_bill.hours.interrupted + (spot_bill.hours.idle if plan.service else 0.0)
    return SpotFigures(
        usd_per_hour=price,
        checkpoint_interval_hours=interval if interval < MOST_HOURS and not plan.service else None,
        overhead_share=share(figures, plan.instances),
        expected_interruptions=min(figures.interruptions_per_hour * plan.instances * running, MOST_RATIO),
        expected_usd=min(spot_bill.total_usd, MOST_DOLLARS),
        cheaper=cheaper,
        break_even_interruptions_per_hour=bearable,
    )


def _reserved(setting: Setting) -> ReservedFigures | None:
    """A commitment costs the same as renting at will when the term is used for price over price of its hours."""
    reserved, plan, at_will_price = setting.option.reserved, setting.plan, setting.quote.usd_per_hour
    if reserved is None or at_will_price is None or setting.owned is not None:
        return None
    at_will = msgspec.structs.replace(plan, committed_hours=0.0)
    term = plan.month_hours * (1 if plan.service else reserved.months)
    used = plan.service_hours if plan.service else bill(at_will).hours.billed
    # A job that outlasts the term commits to another one.
    expected = min(used / (term * max(math.ceil(used / term - _ROUNDING), 1)), 1.0)
    share = _ratio(reserved.usd_per_hour, at_will_price)
    return ReservedFigures(utilisation=share, expected_utilisation=expected, pays=expected > share)


def _api(plan: Plan, label: str, usd_per_unit: float) -> ApiFigures:
    hourly = plan.usd_per_hour * plan.instances * (1 + plan.tax_share)
    at_full_use = hourly / (plan.units_per_second * _SECONDS)
    return ApiFigures(
        label=label,
        utilisation=_ratio(at_full_use, usd_per_unit),
        units_per_month=_ratio(hourly * plan.month_hours, usd_per_unit),
        cheaper_at_full_use=at_full_use < usd_per_unit,
    )


def _ratio(figure: float, other: float) -> float:
    return min(figure / other, MOST_RATIO) if other > figure / MOST_RATIO else MOST_RATIO
