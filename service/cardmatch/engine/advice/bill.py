"""What an option costs: the question that /cost answers, filled in from the load, and its answer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.hardware.layout import SINGLE
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.copies import Copies
from cardmatch.engine.money.cost import cost
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.option import Option, Predicted, Rent
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.price import CallerPrice, OfferPrice
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.money.spot import Spot
from cardmatch.engine.money.work import Job, Service, Work
from cardmatch.engine.speed.throughput import Throughput, WorkUnit
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import NoticeCode

_HOUR = 3600
_UNINTERRUPTED = Spot(interruptions_per_hour=0.0, checkpoint_seconds=0.0, restart_seconds=0.0)
"""Nobody publishes how often; where the request does not say either, the option says that its bill counts none."""


class Ledger(NamedTuple):
    """What /cost needs besides the question."""

    offers: Mapping[str, Offer]
    providers: Mapping[str, Provider]
    ownership: Mapping[str, Ownership]
    ownership_costs: OwnershipCosts
    priced_on: dt.date
    hours_per_month: int


def work_of(demand: Demand, hours_per_month: int) -> Work:
    """A job, or a month of the service: by its requests where they come at a rate, else always busy."""
    prompt = output = None
    if demand.unit is WorkUnit.REQUEST:
        prompt, output = demand.prompt_tokens, demand.output_tokens
    if demand.items is not None:
        return Job(
            unit=demand.unit,
            units=demand.items,
            deadline_hours=demand.deadline_hours,
            prompt_tokens=prompt,
            output_tokens=output,
        )
    units = None
    if demand.mean_rate is not None:
        units = demand.mean_rate * demand.tenants * hours_per_month * _HOUR
    return Service(
        unit=demand.unit,
        hours=hours_per_month,
        units_per_month=units,
        utilisation=1.0 if units is None else None,
        prompt_tokens=prompt,
        output_tokens=output,
    )


def gpus_of(choice: Choice) -> int:
    """GPUs that work; where machines cannot be filled, as many as make the same number of machines."""
    form, size = choice.tried.form, choice.tried.size
    copies = size.copies if size else 1
    each = choice.lot.offer.gpu_count
    if form.nodes > 1:
        return choice.machines * each
    working = -(-copies // form.copies_per_gpu) if form.mig and not choice.lot.offer.mig_profile else copies * form.gpus
    return working if -(-working // each) == choice.machines else choice.machines * each


def throughput_of(choice: Choice, demand: Demand) -> Throughput | None:
    """Units per second: the most in time for loads by rate and jobs, what the load itself makes otherwise."""
    size = choice.tried.size
    served = None if size is None else size.now if demand.concurrency is not None else size.most
    if size is None or served is None:
        return None
    rate = served.requests_per_second * size.copies
    return Throughput(
        unit=demand.unit,
        low_units_per_second=rate * served.low_ratio,
        expected_units_per_second=rate,
        high_units_per_second=rate * served.high_ratio,
        basis=served.basis,
    )


def copies_of(choice: Choice) -> Copies:
    """How the copies of *choice* lie."""
    form, size = choice.tried.form, choice.tried.size
    layout = form.layout if form.layout.data == 1 else SINGLE  # a training run takes all GPUs
    return Copies(
        copies=size.copies if size else 1,
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        nodes=form.nodes,
        mig=form.mig,
        link=form.link,
    )


def option_of(
    choice: Choice,
    label: str,
    model: str | dict[str, Any],
    workload: dict[str, Any],
    units_per_second: float | None = None,
) -> Option:
    """The option to post to /cost, its speed to be predicted."""
    lot = choice.lot
    price: CallerPrice | OfferPrice = OfferPrice(offer=lot.offer.id)
    if lot.own:
        price = CallerPrice(usd_per_hour=lot.usd_per_hour, gpus_per_instance=lot.offer.gpu_count)
    return Option(
        label=label,
        card=choice.tried.form.card.id,
        count=gpus_of(choice),
        price=price,
        throughput=Predicted(
            model=model, workload=workload, copies=copies_of(choice), units_per_second=units_per_second
        ),
        rent=Rent.SPOT if lot.spot else Rent.ON_DEMAND,
        spot=(lot.interruptions or _UNINTERRUPTED) if lot.spot else None,
    )


def question_of(
    choice: Choice, label: str, demand: Demand, model: str | dict[str, Any], workload: dict[str, Any], hours: int
) -> CostQuestion:
    """The question to post to /cost; what random arrivals leave in time no prediction of it repeats, so it is said."""
    within = None
    if demand.peak_rate is not None and demand.has_target and choice.tried.size and choice.tried.size.most:
        within = choice.tried.size.most.requests_per_second * choice.tried.size.copies
    asked = option_of(choice, label, model, workload, within)
    return CostQuestion(options=(asked,), work=work_of(demand, hours))


def priced(question: CostQuestion, throughput: Throughput, ledger: Ledger) -> OptionCost:
    """The bill of *question* at the rate that the search found. Raises Invalid where it is out of all proportion."""
    try:
        return _answered(question, throughput, ledger)
    except Invalid:  # its pointers are into a request that nobody sent
        at = "/job" if isinstance(question.work, Job) else "/load"
        raise refusal(FaultCode.COST_OUT_OF_REACH, at) from None


def _answered(question: CostQuestion, throughput: Throughput, ledger: Ledger) -> OptionCost:
    figures = cost(
        question,
        offers=ledger.offers,
        providers=ledger.providers,
        ownership=ledger.ownership,
        ownership_costs=ledger.ownership_costs,
        priced_on=ledger.priced_on,
        predict=lambda _option, _count, _asked, _unit: Forecast(throughput=throughput),
    )
    return figures.options[0]


ALWAYS_BUSY = NoticeCode.SERVICE_NEAR_CAPACITY
"""Said of every load that is a number of requests at once, and true by its definition."""
