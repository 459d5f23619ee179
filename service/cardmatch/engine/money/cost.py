"""What does finished work cost? The engine's public call behind POST /cost.

Every option does the same work; they are ranked by what the work costs, never by what the hour costs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from cardmatch.engine.money import ranking
from cardmatch.engine.money.answer import MOST_HOURS, MOST_REPLICAS, CostFigures, OptionCost, SweepFigures
from cardmatch.engine.money.band import MOST_DOLLARS
from cardmatch.engine.money.bill import bill
from cardmatch.engine.money.checks import check
from cardmatch.engine.money.column import Column, column
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.plan import ApiPlan
from cardmatch.engine.money.price import TokenApiPrice
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.rating import Predictor
from cardmatch.engine.money.setting import Market, Setting, set_up
from cardmatch.engine.money.sweeping import Plans, sweep
from cardmatch.engine.money.token_api import api_cost, api_plan, usd_per_unit
from cardmatch.engine.money.work import WORK, Job, Service
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Assumption, Question, QuestionCode, Scalar

WORTH_ASKING = 0.02
"""A fact that can move no option's cost by more is not worth a question."""


def cost(
    question: CostQuestion,
    *,
    offers: Mapping[str, Offer],
    providers: Mapping[str, Provider],
    ownership: Mapping[str, Ownership],
    ownership_costs: OwnershipCosts,
    priced_on: dt.date,
    predict: Predictor | None = None,
) -> CostFigures:
    """The comparison, the defaults that were filled in, and what to ask next; cards in *question* are catalogue ids.

    *predict* gives units per second for `throughput` of kind predicted. Raises Invalid with pointers into the request.
    """
    check(question)
    market = Market(offers, providers, ownership, ownership_costs, priced_on, predict)
    settings, apis = _prepared(question, market)
    taxes = {option.label: option.charges.tax_share for option in question.options}
    api_prices = tuple((label, usd_per_unit(price, question.work, taxes[label])) for label, price in apis.items())
    columns = {label: column(setting, question, market, api_prices) for label, setting in settings.items()}
    plans = _plans(question, settings, apis)
    options = tuple(
        [
            api_cost(option, question, plan)
            if isinstance(plan := plans[option.label], ApiPlan)
            else columns[option.label].cost
            for option in question.options
        ]
    )
    _within_reach(options)
    hourly, by_cost = ranking.by_hourly_rate(options), ranking.by_cost(options)
    return CostFigures(
        options=options,
        rank_by_hourly_rate=hourly,
        rank_by_cost=by_cost,
        sweep=_swept(question, settings, plans),
        assumptions=_assumptions(question, settings, columns),
        ask_next=_ask_next(question, columns),
        notices=(*ranking.notices(options, hourly, by_cost), *ranking.of_rates(question)),
    )


def _prepared(question: CostQuestion, market: Market) -> tuple[dict[str, Setting], dict[str, TokenApiPrice]]:
    """Options by the hour and token APIs, by label."""
    settings: dict[str, Setting] = {}
    apis: dict[str, TokenApiPrice] = {}
    for index, option in enumerate(question.options):
        if isinstance(option.price, TokenApiPrice):
            apis[option.label] = option.price
            continue
        try:
            settings[option.label] = set_up(question, option, option.price, market)
        except Invalid as invalid:
            raise invalid.under(f"/options/{index}") from None
    return settings, apis


def _units(question: CostQuestion, settings: dict[str, Setting]) -> float:
    """Units of a month for a token API: those asked for, else what the first option by the hour gets done."""
    work = question.work
    if isinstance(work, Job):
        return work.units
    if work.units_per_month is not None:
        return work.units_per_month
    if not settings:
        raise refusal(FaultCode.LOAD_OF_SERVICE_MISSING, WORK)
    return bill(next(iter(settings.values())).plan).hours.units


def _within_reach(options: tuple[OptionCost, ...]) -> None:
    """Refuses what no machine does and nobody pays: such a figure comes of a unit or a rate that is wrong."""
    for index, option in enumerate(options):
        hours = option.hours
        if (
            option.total.high_usd > MOST_DOLLARS
            or option.replicas > MOST_REPLICAS
            or (hours is not None and max(hours.wall_hours, hours.billed_hours) > MOST_HOURS)
        ):
            raise refusal(FaultCode.COST_OUT_OF_REACH, f"/options/{index}")


def _plans(question: CostQuestion, settings: dict[str, Setting], apis: dict[str, TokenApiPrice]) -> Plans:
    """What each option's bill is made of, by label."""
    return {
        option.label: api_plan(apis[option.label], question, _units(question, settings), option.charges.tax_share)
        if option.label in apis
        else settings[option.label].plan
        for option in question.options
    }


def _swept(question: CostQuestion, settings: dict[str, Setting], plans: Plans) -> SweepFigures | None:
    if question.sweep is None:
        return None
    work = question.work
    loaded_by_use = isinstance(work, Service) and work.units_per_month is None
    try:
        return sweep(question.sweep, plans, follow=next(iter(settings), None) if loaded_by_use else None)
    except Invalid as invalid:
        raise invalid.under("/sweep") from None


def _assumptions(
    question: CostQuestion, settings: dict[str, Setting], columns: dict[str, Column]
) -> tuple[Assumption, ...]:
    """Defaults of the work, once, then of each option."""
    work: dict[str, Scalar] = {}
    if isinstance(question.work, Job) and question.work.utilisation is None:
        work[f"{WORK}/utilisation"] = 1.0
    own = []
    for index, option in enumerate(question.options):
        if option.label in settings:
            for pointer, value in settings[option.label].assumed:
                if pointer.startswith(WORK):
                    work[pointer] = value
                else:
                    own.append(Assumption(pointer=f"/options/{index}{pointer}", value=value))
    shared = work | _compared_by(columns)
    return (*[Assumption(pointer=pointer, value=value) for pointer, value in shared.items()], *own)


def _compared_by(columns: dict[str, Column]) -> dict[str, Scalar]:
    """Defaults of the purchase that rented options are compared with, where all cards have the same."""
    found: dict[str, set[Scalar]] = {}
    for figures in columns.values():
        for field, value in figures.bought:
            found.setdefault(f"/purchase/{field}", set()).add(value)
    return {pointer: values.pop() for pointer, values in found.items() if len(values) == 1}


def _ask_next(question: CostQuestion, columns: dict[str, Column]) -> Question | None:
    """The missing fact that could add most to the cost of any option, as a share of it."""
    found = []
    for index, option in enumerate(question.options):
        if option.label not in columns:
            continue
        figures = columns[option.label]
        total = figures.cost.total.expected_usd or 1.0
        found += [(usd / total, code, index) for code, usd in figures.unknown.items()]
    share, code, index = max(found, default=(0.0, QuestionCode.EGRESS_USD_PER_GB, 0))
    if share > WORTH_ASKING:
        return Question(code=code, pointer=f"/options/{index}/charges/{code}")
    return None
