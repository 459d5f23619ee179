"""`cardmatch recommend`: which card, as a table or as the JSON of POST /recommend."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from cardmatch.answers.misfit import fitted
from cardmatch.answers.recommend import Recommendation, RecommendRequest, recommendation
from cardmatch.answers.subjects import usual_workload
from cardmatch.catalogue.world import bundled
from cardmatch.cli import items, shorthand
from cardmatch.cli.output import BAD_INPUT, add_output, given, page, request_in, show
from cardmatch.engine.advice.question import JobName, Objective, Profile, Scenario
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.sentences import word

_COLUMNS = ("option", "weights", "verdict", "usd_per_hour", "total")
NOTHING_QUALIFIES = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A request as it is posted, or a model with its load and conditions in short."""
    parser.add_argument("model", nargs="?", help="name or size of the model")
    parser.add_argument("--request", metavar="FILE", help="the JSON of POST /recommend; - reads standard input")
    parser.add_argument("--prompt-tokens", type=shorthand.count, metavar="N", help="of a request")
    parser.add_argument("--output-tokens", type=shorthand.count, metavar="N", help="of a request")
    load = parser.add_mutually_exclusive_group()
    load.add_argument("--requests-per-second", type=shorthand.quantity, metavar="N")
    load.add_argument("--requests-per-day", type=shorthand.quantity, metavar="N")
    load.add_argument("--requests-per-hour", type=shorthand.quantity, metavar="N")
    load.add_argument("--concurrency", type=shorthand.count, metavar="N", help="requests at once")
    items.add_rates(load)
    parser.add_argument("--card", action="append", metavar="CARD", help="only this card; may be repeated")
    parser.add_argument("--max-usd-per-hour", type=shorthand.quantity, metavar="USD")
    parser.add_argument("--server-country", action="append", metavar="CODE", help="code or group, such as eu")
    parser.add_argument("--nodes", type=shorthand.count, metavar="N", help="most machines that one copy may span")
    parser.add_argument("--spot", action="store_true", help="let interruptible machines rank")
    parser.add_argument("--weights", metavar="FORMAT", help="number format of the weights")
    parser.add_argument("--objective", choices=list(Objective), type=Objective)
    parser.add_argument("--profile", choices=[each.value for each in Profile], help="who asks; fills in the rest")
    parser.add_argument("--job", choices=[each.value for each in JobName], help="kind of job; fills in the rest")
    parser.add_argument("--scenario", choices=[each.value for each in Scenario], help="situation; fills in the rest")
    parser.add_argument("--limit", type=int, metavar="N", help="most options to show")
    parser.add_argument("--priced-on", metavar="DATE", help="day of the prices (default: today in UTC)")
    items.add_arguments(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the options. 0: there are some; 1: nothing qualifies; 2: bad input."""
    answer = show(arguments, _request, partial(recommendation, bundled()), _in_words)
    if answer is None:
        return BAD_INPUT
    return 0 if answer.options else NOTHING_QUALIFIES


def _request(arguments: argparse.Namespace) -> RecommendRequest:
    return fitted(_body(arguments), RecommendRequest)


def _body(arguments: argparse.Namespace) -> dict[str, Any]:
    body = request_in(arguments.request)
    load = _given(
        arguments,
        "prompt_tokens",
        "output_tokens",
        "requests_per_second",
        "requests_per_hour",
        "requests_per_day",
        "concurrency",
        "p95_latency_seconds",
        *items.RATES,
    )
    if load:
        body["load"] = body.get("load", {}) | load
    limits = _given(arguments, "max_usd_per_hour", "max_usd_total")
    for field, values in (("cards", arguments.card), ("server_countries", arguments.server_country)):
        if values:
            limits[field] = values
    if limits:
        body["constraints"] = body.get("constraints", {}) | limits
    workload = items.workload_of(arguments) | given(weights=arguments.weights)
    if workload:
        body["workload"] = _usual(arguments.model or body.get("model")) | body.get("workload", {}) | workload
    job = items.job_of(arguments) | given(preset=arguments.job)
    if job:
        body["job"] = body.get("job", {}) | job
    for field in ("offload", "spot"):
        if getattr(arguments, field):
            body["allow"] = body.get("allow", {}) | {field: True}
    return body | _given(arguments, "model", "nodes", "objective", "profile", "scenario", "limit", "priced_on")


def _usual(model: Any) -> dict[str, Any]:
    """The kind of workload, and its task, that *model* is for."""
    meant = usual_workload(bundled(), model) if isinstance(model, str) else None
    if meant is None:
        return {"kind": "inference"}
    return {"kind": str(meant.__struct_config__.tag)} | given(task=getattr(meant, "task", None))


def _given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    return given(**{name: getattr(arguments, name) for name in names})


def _in_words(answer: Recommendation, _: RecommendRequest, language: Language) -> str:
    numbers = numerals(language)
    rows = [
        (
            f"{option.rank}. {option.count} × {option.card} ({option.offer.provider})",
            word("format", option.weights, language),
            word("verdict", option.verdict.value, language),
            numbers.fixed(option.usd_per_hour, 2),
            numbers.fixed(option.cost.total.expected_usd if option.cost else option.usd_per_month, 2),
        )
        for option in answer.options
    ]
    notices = [each.message for option in answer.options[:1] for each in option.cautions]
    notices += [each.message for each in (*answer.notices, *answer.advice)]
    if answer.nearest is not None:
        notices.append(answer.nearest.reason.message)
        notices += [f"{each.pointer} = {json.dumps(each.value)}" for each in answer.nearest.changes]
    return page(answer.summary, _COLUMNS, rows, "usd", notices, language)
