"""How fast an option works, in the unit of the work: stated, measured or predicted."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from cardmatch.engine.money.answer import RateUsed
from cardmatch.engine.money.option import Measured, Option, Predicted, Reported
from cardmatch.engine.money.work import Work
from cardmatch.engine.speed.reports.reading import read_report
from cardmatch.engine.speed.reports.report import Report, throughput_of
from cardmatch.engine.speed.throughput import Throughput, WorkUnit, exactly, scaled
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Notice, NoticeCode, Scalar, Severity, notice

SATURATED = 0.9
"""A server that answers this share of the requests that come was not kept busy: it might answer more."""

_OF_REQUESTS = frozenset({WorkUnit.TOKEN, WorkUnit.OUTPUT_TOKEN, WorkUnit.REQUEST})


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """Units of work per second of the whole option; pointers of what was assumed are into the prediction."""

    throughput: Throughput
    assumed: tuple[tuple[str, Scalar], ...] = ()
    notices: tuple[Notice, ...] = ()


Predictor = Callable[[Option, int, Predicted, WorkUnit], Forecast]
"""The rate of an option on so many GPUs; raises Invalid with pointers into the prediction."""

LENGTHS_APART = 0.25
"""A benchmark whose requests are this much longer or shorter than the work's says little of it."""


class Rating(msgspec.Struct, frozen=True, gc=False):
    """The rate used, and what must be said of it; pointers of what was assumed are into the option."""

    used: RateUsed
    notices: tuple[Notice, ...]
    assumed: tuple[tuple[str, Scalar], ...] = ()


def rate(option: Option, count: int, work: Work, predict: Predictor | None) -> Rating:
    """The throughput of *option* in the unit of *work*. Raises Invalid with a pointer into the option."""
    given = option.throughput
    if given is None:
        raise refusal(FaultCode.THROUGHPUT_MISSING, "/throughput")
    try:
        if isinstance(given, Predicted):
            found = _predicted(option, count, given, work.unit, predict)
            used = RateUsed(kind="predicted", throughput=found.throughput)
            return Rating(used, found.notices, _below("/throughput", found))
        if isinstance(given, Measured):
            rating, asked = _measured(given, work.unit), given.prediction
        else:
            report = _read(given, work)
            rating, asked = _reported(report, count, work), _under_load(given.prediction, report, count, work.unit)
        return rating if asked is None else _compared(rating, option, count, asked, predict)
    except Invalid as invalid:
        raise invalid.under("/throughput") from None


def _predicted(option: Option, count: int, asked: Predicted, unit: WorkUnit, predict: Predictor | None) -> Forecast:
    if predict is None:
        raise refusal(FaultCode.THROUGHPUT_NOT_PREDICTED, "/kind")
    return predict(option, count, asked, unit)


def _below(pointer: str, found: Forecast) -> tuple[tuple[str, Scalar], ...]:
    """What was assumed, with pointers into the option."""
    return tuple([(f"{pointer}{where}", what) for where, what in found.assumed])


def _measured(given: Measured, unit: WorkUnit) -> Rating:
    if given.unit is not None and given.unit is not unit:
        raise refusal(FaultCode.UNIT_OF_OTHER_WORK, "/unit", unit=given.unit.value, work_unit=unit.value)
    used = RateUsed(kind="measured", throughput=exactly(unit, given.units_per_second), family=given.family)
    return Rating(used, ())


def _read(given: Reported, work: Work) -> Report:
    return read_report(given.tool, given.text, prompt_tokens=work.prompt_tokens, output_tokens=work.output_tokens)


def _under_load(asked: Predicted | None, report: Report, count: int, unit: WorkUnit) -> Predicted | None:
    """*asked* with as many requests at once as the benchmark had, so that like is compared with like."""
    at_once, gpus = report.concurrency, report.accelerators
    if asked is None or at_once is None or unit not in _OF_REQUESTS or gpus not in {None, count}:
        return asked
    if asked.workload.get("kind", "inference") != "inference" or "concurrency" in asked.workload:
        return asked
    return msgspec.structs.replace(asked, workload=asked.workload | {"concurrency": at_once})


def _reported(report: Report, count: int, work: Work) -> Rating:
    tool = report.tool.value
    found = throughput_of(report, work.unit)
    if found is None:
        has = [rate.unit.value for rate in report.rates]
        raise refusal(FaultCode.REPORT_LACKS_UNIT, "/text", tool=tool, unit=work.unit.value, has=has)
    notices = []
    gpus, failed = report.accelerators, report.failed_requests
    if gpus is not None and gpus != count:
        found = scaled(found, count / gpus)
        notices.append(notice(NoticeCode.REPORT_SCALED, Severity.CAUTION, tool=tool, gpus=gpus, count=count))
    if failed:
        notices.append(notice(NoticeCode.REPORT_WITH_FAILURES, Severity.CAUTION, tool=tool, failed=failed))
    notices += _of_load(report)
    if _apart(work.prompt_tokens, report.prompt_tokens) or _apart(work.output_tokens, report.output_tokens):
        notices.append(_other_lengths(report, work))
    used = RateUsed(kind="report", throughput=found, tool=report.tool, family=report.family)
    return Rating(used, tuple(notices))


def _of_load(report: Report) -> list[Notice]:
    """That several runs were given, and that requests came no faster than they were answered."""
    found, tool = [], report.tool.value
    if report.runs > 1:
        found.append(notice(NoticeCode.REPORT_OF_LAST_RUN, Severity.CAUTION, tool=tool, runs=report.runs))
    served = next((rate.units_per_second for rate in report.rates if rate.unit is WorkUnit.REQUEST), None)
    offered = report.requests_per_second
    if served is not None and offered is not None and served >= SATURATED * offered:
        found.append(notice(NoticeCode.REPORT_NOT_SATURATED, Severity.CAUTION, tool=tool, requests_per_second=offered))
    return found


def _apart(asked: int | None, found: float | None) -> bool:
    return asked is not None and found is not None and abs(found - asked) > LENGTHS_APART * asked


def _other_lengths(report: Report, work: Work) -> Notice:
    return notice(
        NoticeCode.REPORT_OF_OTHER_LENGTHS,
        Severity.CAUTION,
        tool=report.tool.value,
        prompt_tokens=work.prompt_tokens or 0,
        output_tokens=work.output_tokens or 0,
        report_prompt_tokens=round(report.prompt_tokens or 0),
        report_output_tokens=round(report.output_tokens or 0),
    )


def _compared(rating: Rating, option: Option, count: int, asked: Predicted, predict: Predictor | None) -> Rating:
    """The measurement counts; the prediction stands beside it, with a notice where the two do not agree."""
    measured = rating.used.throughput
    try:
        found = _predicted(option, count, asked, measured.unit, predict)
    except Invalid as invalid:
        raise invalid.under("/prediction") from None
    predicted, assumed = found.throughput, _below("/throughput/prediction", found)
    used = msgspec.structs.replace(rating.used, predicted=predicted)
    notices = (*rating.notices, *found.notices)
    low, high = predicted.low_units_per_second, predicted.high_units_per_second
    figure = measured.expected_units_per_second
    if not low <= figure <= high:
        outside = notice(NoticeCode.MEASURED_OUTSIDE_PREDICTION, Severity.CAUTION, measured=figure, low=low, high=high)
        notices = (*notices, outside)
    return Rating(used, notices, assumed)
