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
from cardmatch.engine.money.column import Column, column
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
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
    _check(question)
    market = Market(offers, providers, ownership, ownership_costs, priced_on, predict)
    settings, apis = _prepared(question, market)
    api_prices = tuple((label, usd_per_unit(price, question.work)) for label, price in apis.items())
    columns = {label: column(setting, question, market, api_prices) for label, setting in settings.items()}
    options = tuple(
        [
            api_cost(option, question, api_plan(apis[option.label], question, _units(question, settings)))
            if option.label in apis
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
        sweep=_swept(question, settings, apis),
        assumptions=_assumptions(question, settings),
        ask_next=_ask_next(question, columns),
        notices=tuple(ranking.notices(options, hourly, by_cost)),
    )


def _check(question: CostQuestion) -> None:
    """What no single field shows: labels told apart, and a service that says how busy it is."""
    seen = set()
    for index, option in enumerate(question.options):
        if option.label in seen:
            raise refusal(FaultCode.LABEL_TWICE, f"/options/{index}/label", name=option.label)
        seen.add(option.label)
    if isinstance(question.work, Service):
        if (question.work.utilisation is None) == (question.work.units_per_month is None):
            raise refusal(FaultCode.EXACTLY_ONE_OF, WORK, fields=["utilisation", "units_per_month"])
        for field, stated in (("runs", question.runs != 1), ("failed_share", question.failed_share > 0)):
            if stated:
                raise refusal(FaultCode.ONLY_FOR_JOBS, f"/{field}", field=field)


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


def _swept(question: CostQuestion, settings: dict[str, Setting], apis: dict[str, TokenApiPrice]) -> SweepFigures | None:
    if question.sweep is None:
        return None
    plans: Plans = {
        option.label: api_plan(apis[option.label], question, _units(question, settings))
        if option.label in apis
        else settings[option.label].plan
        for option in question.options
    }
    try:
        return sweep(question.sweep, plans)
    except Invalid as invalid:
        raise invalid.under("/sweep") from None


def _assumptions(question: CostQuestion, settings: dict[str, Setting]) -> tuple[Assumption, ...]:
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
    return (*[Assumption(pointer=pointer, value=value) for pointer, value in work.items()], *own)


def _ask_next(question: CostQuestion, columns: dict[str, Column]) -> Question | None:
    """The missing fact that could add most to the cost of any option, as a share of it."""
    found = []
    for index, option in enumerate(question.options):
        if option.label not in columns:
            continue
        figures = columns[option.label]
        total = figures.cost.total.expected_usd or 1.0
        found.append((figures.increment_usd / total, QuestionCode.BILLING_INCREMENT_SECONDS, index))
        found.append((figures.egress_usd / total, QuestionCode.EGRESS_USD_PER_GB, index))
    share, code, index = max(found, default=(0.0, QuestionCode.EGRESS_USD_PER_GB, 0))
    if share > WORTH_ASKING:
        return Question(code=code, pointer=f"/options/{index}/charges/{code}")
    return None
