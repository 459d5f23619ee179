"""`cardmatch cost`: what work costs with each option, as a table or as the JSON of POST /cost."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from cardmatch.answers.cost import Cost, CostRequest, cost
from cardmatch.answers.misfit import fitted
from cardmatch.catalogue.world import bundled
from cardmatch.cli import shorthand
from cardmatch.cli.options import GRAMMAR, currency, option, sweep
from cardmatch.cli.output import BAD_INPUT, add_output, given, page, request_in, show, table
from cardmatch.engine.money.answer import HoursOfWork
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.text.cost_summary import each_in_words
from cardmatch.text.language import Language
from cardmatch.text.numerals import Numerals, numerals
from cardmatch.text.sentences import word

_COLUMNS = ("option", "usd_per_hour", "billed_hours", "total", "low", "high", "each")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A request as it is posted, or options and work in short."""
    parser.add_argument("request", nargs="?", help="file with the JSON of POST /cost; - reads it from standard input")
    parser.add_argument("--option", action="append", type=option, default=[], metavar="OPTION", help=GRAMMAR)
    parser.add_argument("--unit", choices=list(WorkUnit), type=WorkUnit, default=WorkUnit.TOKEN)
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--units", type=shorthand.quantity, metavar="N", help="a job: units of one run; 1g is 10^9")
    work.add_argument("--units-per-month", type=shorthand.quantity, metavar="N", help="a service: its load")
    work.add_argument("--busy", type=shorthand.quantity, metavar="SHARE", help="a service: share of the time, 0 to 1")
    parser.add_argument("--prompt-tokens", type=shorthand.count, metavar="N", help="of a request")
    parser.add_argument("--output-tokens", type=shorthand.count, metavar="N", help="of a request")
    parser.add_argument("--runs", type=shorthand.count, metavar="N", help="runs that must succeed")
    parser.add_argument("--failed-share", type=shorthand.quantity, metavar="SHARE", help="of the runs started")
    parser.add_argument("--in-gb", type=shorthand.quantity, metavar="GB", help="data in, per run or month")
    parser.add_argument("--out-gb", type=shorthand.quantity, metavar="GB", help="data out, per run or month")
    parser.add_argument("--stored-gb", type=shorthand.quantity, metavar="GB", help="data kept")
    parser.add_argument("--deadline-hours", type=shorthand.quantity, metavar="H", help="a job: when it must be done")
    parser.add_argument(
        "--hour-of-waiting", type=shorthand.quantity, metavar="USD", help="a job: what an hour is worth"
    )
    parser.add_argument("--sweep", type=sweep, metavar="PARAMETER=V,V", help="set one parameter to other values too")
    parser.add_argument("--currency", type=currency, metavar="CODE=USD", help="give totals in it too, as EUR=1.16")
    parser.add_argument("--compare-buying", action="store_true", help="say where buying the card breaks even")
    parser.add_argument("--priced-on", metavar="DATE", help="day of the prices (default: today in UTC)")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison. 0: answered; 2: bad input."""
    return BAD_INPUT if show(arguments, _request, partial(cost, bundled()), _in_words) is None else 0


def _request(arguments: argparse.Namespace) -> CostRequest:
    return fitted(_body(arguments), CostRequest)


def _body(arguments: argparse.Namespace) -> dict[str, Any]:
    body = request_in(arguments.request)
    if arguments.option:
        body["options"] = [*body.get("options", []), *arguments.option]
    if "work" not in body:
        body["work"] = _work(arguments)
    data = given(in_gb=arguments.in_gb, out_gb=arguments.out_gb, stored_gb=arguments.stored_gb)
    if data:
        body["data"] = data
    if arguments.compare_buying:
        body.setdefault("purchase", {})
    return body | given(
        runs=arguments.runs,
        failed_share=arguments.failed_share,
        time_value_usd_per_hour=arguments.hour_of_waiting,
        sweep=arguments.sweep,
        currency=arguments.currency,
        priced_on=arguments.priced_on,
    )


def _work(arguments: argparse.Namespace) -> dict[str, Any]:
    lengths = given(prompt_tokens=arguments.prompt_tokens, output_tokens=arguments.output_tokens)
    load = given(utilisation=arguments.busy, units_per_month=arguments.units_per_month)
    if load:
        load |= given(deadline_hours=arguments.deadline_hours)  # refused as a request would be
        return {"kind": "service", "unit": arguments.unit.value, **load, **lengths}
    job = given(units=arguments.units, deadline_hours=arguments.deadline_hours)
    return {"kind": "job", "unit": arguments.unit.value, **job, **lengths}


def _in_words(answer: Cost, request: CostRequest, language: Language) -> str:
    numbers = numerals(language)
    options = {option.label: option for option in answer.options}
    rows = [
        (
            label,
            _money(numbers, options[label].price.usd_per_hour),
            _hours(numbers, options[label].hours),
            _money(numbers, options[label].total.expected_usd),
            _money(numbers, options[label].total.low_usd),
            _money(numbers, options[label].total.high_usd),
            each_in_words(options[label], request.work.unit.value, language),
        )
        for label in answer.rank_by_cost
    ]
    notices = [f"{option.label}: {notice.message}" for option in answer.options for notice in option.notices] + [
        notice.message for notice in answer.notices
    ]
    return page(answer.summary, _COLUMNS, rows, "usd", [*_beside(answer, language), *notices], language)


def _beside(answer: Cost, language: Language) -> list[str]:
    """Totals in another currency and at the values of a sweep, where they were asked for."""
    numbers, found = numerals(language), []
    for each in answer.options:
        if each.in_currency is not None:
            amount = numbers.fixed(each.in_currency.expected, 2)
            found.append(f"{each.label}: {amount} {each.in_currency.currency}")
    if answer.sweep is not None:
        labels = [option.label for option in answer.options]
        rows = [
            (numbers.brief(point.value, 4), *[numbers.fixed(point.total_usd[label], 2) for label in labels])
            for point in answer.sweep.points
        ]
        found.append(table([answer.sweep.parameter.value, *labels], rows, word("column", "usd", language)))
    return found


def _money(numbers: Numerals, usd: float | None) -> str:
    return "–" if usd is None else numbers.fixed(usd, 2)


def _hours(numbers: Numerals, hours: HoursOfWork | None) -> str:
    return "–" if hours is None else numbers.brief(hours.billed_hours, 2)
