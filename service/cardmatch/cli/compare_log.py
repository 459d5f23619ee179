"""`cardmatch compare-log`: what an engine's log says beside what is predicted for the same start."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path
from typing import Any, cast

import msgspec

from cardmatch.answers.estimate import Estimate, EstimateRequest, estimate_vram
from cardmatch.answers.misfit import fitted
from cardmatch.catalogue.names.cards import resolve_card
from cardmatch.catalogue.world import bundled
from cardmatch.cli import shorthand
from cardmatch.cli.output import BAD_INPUT, language_of, print_faults, table
from cardmatch.engine.memory.logs.case import Origin, truth_row
from cardmatch.engine.memory.logs.compare import LogReading
from cardmatch.engine.memory.logs.logged import Logged
from cardmatch.engine.memory.logs.read import read_log
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language
from cardmatch.text.numerals import numerals
from cardmatch.text.sentences import word

DIFFERS = 1
_COLUMNS = ("figure", "logged", "predicted", "difference")
_LONGEST_LOG = 1_000_000
_HEAD = 300_000
"""Of a longer log the start, where the settings stand, and the end, where the error does."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The logs, and what they do not say of themselves."""
    parser.add_argument("log", nargs="+", type=Path, metavar="FILE", help="start-up log or error of an engine")
    parser.add_argument("--model", help="catalogue id, loose name or a config.json (default: the name in the log)")
    parser.add_argument("--card", type=shorthand.card, metavar="CARD", help="rtx-4090, 2x h100-sxm-80 …")
    parser.add_argument("--weights", metavar="FORMAT", help="number format of the weights, such as gguf:Q4_K_M")
    parser.add_argument("--version", help="the engine's version, where the log does not say it")
    parser.add_argument(
        "--tolerance", type=float, default=10.0, metavar="PERCENT", help="largest difference that passes (default: 10)"
    )
    parser.add_argument("--as-case", action="store_true", help="print each log as a row of the truth cases")
    parser.add_argument("--source", default="", help="address that the row of --as-case names as its source")
    parser.add_argument("--language", type=Language, choices=list(Language), help="en, es or zh (default: from LANG)")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run(arguments: argparse.Namespace) -> int:
    """0: all as predicted; 1: a figure differs by more than the tolerance, or the log has an error; 2: bad input."""
    language = language_of(arguments.language)
    status = 0
    for path in arguments.log:
        try:
            status = max(status, _one(path, arguments, language))
        except Invalid as invalid:
            return print_faults(invalid, language)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
            print(f"cardmatch: {path}: {error}", file=sys.stderr)
            return BAD_INPUT
    return status


def _one(path: Path, arguments: argparse.Namespace, language: Language) -> int:
    text = path.read_text(encoding="utf-8", errors="replace")
    if len(text) > _LONGEST_LOG:
        text = text[:_HEAD] + "\n" + text[_HEAD - _LONGEST_LOG + 1 :]
    logged = read_log(text, pointer=f"/{path.name}")
    if arguments.as_case:
        print(msgspec.json.encode(truth_row(logged, _origin(path, logged, arguments))).decode())
        return 0
    answer = _estimated(text, logged, arguments, language)
    reading = answer.engine_log
    if reading is None:
        return 0
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(reading), indent=2).decode())
    else:
        print(_in_words(path, reading, language))
    differences = [abs(figure.difference_percent or 0.0) for figure in reading.figures]
    return DIFFERS if reading.cause or max(differences, default=0.0) > arguments.tolerance else 0


def _origin(path: Path, logged: Logged, arguments: argparse.Namespace) -> Origin:
    card = arguments.card
    return Origin(
        id=path.stem,
        source=arguments.source or path.name,
        model=arguments.model or logged.model,
        checkpoint=arguments.weights,
        card=resolve_card(bundled(), card.card).id if card else None,
        count=card.number if card else None,
    )


def _estimated(text: str, logged: Logged, arguments: argparse.Namespace, language: Language) -> Estimate:
    """The estimate of a request that has the log; the model and card of the log stand in for those not named."""
    engine: dict[str, Any] = {"kind": "llama_cpp" if logged.engine == "ollama" else logged.engine}
    if arguments.version:
        engine["version"] = arguments.version
    workload: dict[str, Any] = {"kind": "inference", "engine": engine, "engine_log": text}
    if arguments.weights:
        workload["weights"] = arguments.weights
    card = arguments.card
    cards = [{"card": card.card, "count": card.number}] if card else [{"card": logged.card}] if logged.card else None
    body: dict[str, Any] = {"model": _model(arguments.model or logged.model or ""), "workload": workload}
    if cards:
        body["cards"] = cards
    request = fitted(body, EstimateRequest)
    answer = estimate_vram(bundled(), request, language, dt.datetime.now(dt.UTC).date())
    return cast("Estimate", answer)  # the workload is of kind inference


def _model(text: str) -> str | dict[str, Any]:
    """A name, or the content of a configuration file."""
    path = Path(text)
    if path.suffix == ".json" and path.is_file():
        return {"kind": "config", "config": msgspec.json.decode(path.read_bytes())}
    return text


def _in_words(path: Path, reading: LogReading, language: Language) -> str:
    numbers = numerals(language)

    def written(name: str, value: float | None) -> str:
        if value is None:
            return "–"
        return numbers.gib(int(value)) if name.endswith("_bytes") else numbers.brief(value, 3)

    rows = [
        (
            figure.figure,
            written(figure.figure, figure.logged),
            written(figure.figure, figure.predicted),
            "–" if figure.difference_percent is None else f"{figure.difference_percent:+.1f} %",
        )
        for figure in reading.figures
    ]
    heads = [word("column", column, language) for column in _COLUMNS]
    version = f" {reading.version}" if reading.version else ""
    lines = [f"{path.name}: {word('engine', reading.engine, language)}{version}"]
    if rows:
        lines.append(table(heads, rows, word("column", "gib", language)))
    if reading.cause:
        lines += [reading.cause.message, *(f"  {fix.message}" for fix in reading.fixes)]
    return "\n".join(lines)
