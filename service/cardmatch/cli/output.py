"""What all commands do alike: read a request, ask, and print tables, figures or faults."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from tabulate import tabulate

from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language, choose_language
from cardmatch.text.problem import mistake
from cardmatch.text.sentences import word

BAD_INPUT = 2
STDIN = "-"

R = TypeVar("R")
T = TypeVar("T")


def show(
    arguments: argparse.Namespace,
    read: Callable[[argparse.Namespace], R],
    ask: Callable[[R, Language, dt.date], T],
    told: Callable[[T, R, Language], str],
) -> T | None:
    """Print what *ask* answers to the request that *read* makes of *arguments*, in the language wanted, today; as JSON
    or as *told*. None where the input was bad.
    """
    language = language_of(arguments.language)
    try:
        request = read(arguments)
        answer = ask(request, language, dt.datetime.now(dt.UTC).date())
    except Invalid as invalid:
        print_faults(invalid, language)
        return None
    except (OSError, msgspec.DecodeError) as error:
        print(f"cardmatch: {error}", file=sys.stderr)
        return None
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        print(told(answer, request, language))
    return answer


def add_output(parser: argparse.ArgumentParser) -> None:
    """The options of `show`."""
    parser.add_argument("--language", type=Language, choices=list(Language), help="en, es or zh (default: from LANG)")
    parser.add_argument("--json", action="store_true", help="print the answer of the API")


def request_in(path: str | None) -> dict[str, Any]:
    """The JSON of the file at *path*, or of standard input; empty without one. Raises OSError, msgspec.DecodeError."""
    if path is None:
        return {}
    raw = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    return msgspec.json.decode(raw, type=dict[str, Any])


def given(**values: Any) -> dict[str, Any]:
    """Those of *values* that were given."""
    return {name: value for name, value in values.items() if value is not None}


def page(
    summary: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    unit: str,
    lines: Iterable[str],
    language: Language,
) -> str:
    """The summary, a table with the words for *columns* at its head and for *unit* below it, and further *lines*."""
    heads = [word("column", column, language) for column in columns]
    shown = [table(heads, rows, word("column", unit, language))] if rows else []
    return "\n".join([summary, "", *shown, *lines])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], unit: str) -> str:
    """A table for the terminal; *unit* stands below it."""
    return f"{tabulate(rows, heads, stralign='right', disable_numparse=True)}\n({unit})"


def language_of(asked: Language | None) -> Language:
    """The language asked for, else the terminal's."""
    terminal = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
    return choose_language(terminal.partition(".")[0].replace("_", "-"), asked)


def print_faults(invalid: Invalid, language: Language) -> int:
    """Say on the error stream what is wrong; the exit status for bad input."""
    for fault in invalid.faults:
        wrong = mistake(fault, language)
        print(f"cardmatch: {wrong.pointer}: {wrong.detail}", file=sys.stderr)
        if wrong.suggestions:
            print(f"  {', '.join(wrong.suggestions)}", file=sys.stderr)
    return BAD_INPUT
