"""What all commands print alike: tables, figures, faults."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tabulate import tabulate

from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language, choose_language
from cardmatch.text.problem import mistake

BAD_INPUT = 2


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
