"""`cardmatch recommend`: which card, as a table or as the JSON of POST /recommend."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.answers.recommend import Recommendation, RecommendRequest, recommendation
from cardmatch.catalogue.world import bundled
from cardmatch.cli import shorthand
from cardmatch.cli.output import BAD_INPUT, language_of, print_faults, table
from cardmatch.engine.advice.question import JobName, Objective, Profile, Scenario
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.sentences import word

_COLUMNS = ("option", "weights", "verdict", "usd_per_hour", "total")
_STDIN = "-"
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
    load.add_argument("--concurrency", type=shorthand.count, metavar="N", help="requests at once")
    parser.add_argument("--card", action="append", metavar="CARD", help="only this card; may be repeated")
    parser.add_argument("--max-usd-per-hour", type=shorthand.quantity, metavar="USD")
    parser.add_argument("--server-country", action="append", metavar="CODE", help="code or group, such as eu")
    parser.add_argument("--weights", metavar="FORMAT", help="number format of the weights")
    parser.add_argument("--objective", choices=list(Objective), type=Objective)
    parser.add_argument("--profile", choices=[each.value for each in Profile], help="who asks; fills in the rest")
    parser.add_argument("--job", choices=[each.value for each in JobName], help="kind of job; fills in the rest")
    parser.add_argument("--scenario", choices=[each.value for each in Scenario], help="situation; fills in the rest")
    parser.add_argument("--limit", type=int, metavar="N", help="most options to show")
    parser.add_argument("--priced-on", metavar="DATE", help="day of the prices (default: today in UTC)")
    parser.add_argument("--language", type=Language, choices=list(Language), help="en, es or zh (default: from LANG)")
    parser.add_argument("--json", action="store_true", help="print the answer of the API")


def run(arguments: argparse.Namespace) -> int:
    """Print the options. 0: there are some; 1: nothing qualifies; 2: bad input."""
    language = language_of(arguments.language)
    try:
        request = msgspec.convert(_body(arguments), RecommendRequest)
        answer = recommendation(bundled(), request, language, dt.datetime.now(dt.UTC).date())
    except Invalid as invalid:
        return print_faults(invalid, language)
    except (msgspec.ValidationError, msgspec.DecodeError, OSError) as error:
        print(f"cardmatch: {error}", file=sys.stderr)
        return BAD_INPUT
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        print(_in_words(answer, language))
    return 0 if answer.options else NOTHING_QUALIFIES


def _body(arguments: argparse.Namespace) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if arguments.request is not None:
        raw = sys.stdin.buffer.read() if arguments.request == _STDIN else Path(arguments.request).read_bytes()
        body = msgspec.json.decode(raw, type=dict[str, Any])
    load = _given(
        arguments,
        "prompt_tokens",
        "output_tokens",
        "requests_per_second",
        "requests_per_day",
        "concurrency",
    )
    if load:
        body["load"] = body.get("load", {}) | load
    limits = _given(arguments, "max_usd_per_hour")
    for field, values in (("cards", arguments.card), ("server_countries", arguments.server_country)):
        if values:
            limits[field] = values
    if limits:
        body["constraints"] = body.get("constraints", {}) | limits
    if arguments.weights:
        body["workload"] = body.get("workload", {"kind": "inference"}) | {"weights": arguments.weights}
    if arguments.job:
        body["job"] = body.get("job", {}) | {"preset": arguments.job}
    return body | _given(arguments, "model", "objective", "profile", "scenario", "limit", "priced_on")


def _given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _in_words(answer: Recommendation, language: Language) -> str:
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
    heads = [word("column", column, language) for column in _COLUMNS]
    notices = [each.message for option in answer.options[:1] for each in option.cautions]
    notices += [each.message for each in (*answer.notices, *answer.advice)]
    if answer.nearest is not None:
        notices.append(answer.nearest.reason.message)
    shown = [table(heads, rows, word("column", "usd", language))] if rows else []
    return "\n".join([answer.summary, "", *shown, *notices])
