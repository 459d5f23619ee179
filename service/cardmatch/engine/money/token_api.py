"""Work bought by the token from somebody else's endpoint."""

from __future__ import annotations

from cardmatch.engine.money.answer import BreakEven, Line, OptionCost, PriceUsed
from cardmatch.engine.money.band import dollars, spread
from cardmatch.engine.money.bill import API_LINES, api_bill
from cardmatch.engine.money.option import Option
from cardmatch.engine.money.per import foreign, per
from cardmatch.engine.money.plan import ApiPlan
from cardmatch.engine.money.price import TokenApiPrice
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.work import WORK, Job, Work
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_MILLION = 1_000_000.0


def requests_per_unit(work: Work) -> float:
    """Requests in one unit of *work*. Raises Invalid at `/work`: an API sells tokens of requests of known lengths."""
    prompt, output = work.prompt_tokens, work.output_tokens
    if prompt is None or output is None:
        raise refusal(FaultCode.REQUEST_LENGTHS_MISSING, WORK)
    per_request = {WorkUnit.TOKEN: prompt + output, WorkUnit.OUTPUT_TOKEN: output, WorkUnit.REQUEST: 1}.get(work.unit)
    if per_request is None:
        raise refusal(FaultCode.UNIT_NOT_SOLD, f"{WORK}/unit", unit=work.unit.value)
    return 1 / per_request


def usd_per_unit(price: TokenApiPrice, work: Work, tax_share: float = 0.0) -> float:
    """What one unit of *work* costs there, tax included."""
    asked = (work.prompt_tokens or 0) * price.usd_per_million_input
    answered = (work.output_tokens or 0) * price.usd_per_million_output
    return requests_per_unit(work) * (asked + answered) / _MILLION * (1 + tax_share)


def api_plan(price: TokenApiPrice, question: CostQuestion, units_per_month: float, tax_share: float = 0.0) -> ApiPlan:
    """The plan of a job's run, or of *units_per_month* of a service."""
    work = question.work
    units = work.units if isinstance(work, Job) else units_per_month
    return ApiPlan(
        units=units,
        requests=units * requests_per_unit(work),
        prompt_tokens=float(work.prompt_tokens or 0),
        output_tokens=float(work.output_tokens or 0),
        usd_per_input_token=price.usd_per_million_input / _MILLION,
        usd_per_output_token=price.usd_per_million_output / _MILLION,
        runs=float(question.runs),
        failed_share=question.failed_share,
        tax_share=tax_share,
    )


def api_cost(option: Option, question: CostQuestion, plan: ApiPlan) -> OptionCost:
    """The column of a token API: two lines, no hours, no machines."""
    amounts = api_bill(plan)
    lines = tuple([Line(code, dollars(usd)) for code, usd in zip(API_LINES, amounts, strict=True) if usd])
    total = spread(sum(line.usd for line in lines), [], [], Basis.EXACT)
    units = plan.units * plan.runs
    each = per(sum(amounts), units, question)
    return OptionCost(
        label=option.label,
        card=None,
        count=None,
        instances=None,
        unused_gpus=0,
        replicas=1,
        price=PriceUsed(kind="token_api", usd_per_hour=None),
        rate=None,
        units=units,
        utilisation=None,
        hours=None,
        lines=lines,
        total=total,
        invoice_usd=total.expected_usd,
        usd_per_unit=each.unit,
        units_per_usd=each.units_per_usd,
        usd_per_million_tokens=each.million_tokens,
        usd_per_thousand=each.thousand,
        usd_per_run=each.run,
        usd_per_month=each.month,
        in_currency=foreign(total, question.currency),
        prepaid=None,
        owned=None,
        break_even=BreakEven(),
        notices=_notices(question),
    )


def _notices(question: CostQuestion) -> tuple[Notice, ...]:
    """That nobody knows how long an API takes, where time counts."""
    work = question.work
    if question.time_value_usd_per_hour or (isinstance(work, Job) and work.deadline_hours is not None):
        return (notice(NoticeCode.API_TIME_UNKNOWN, Severity.CAUTION),)
    return ()
