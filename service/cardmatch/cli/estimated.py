"""An estimate on the terminal, whatever its workload: a summary, a row for each placement, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cardmatch.answers.answer import Answer
from cardmatch.cli.output import page
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.diffusion.answer import DiffusionPlacement
from cardmatch.engine.memory.encode.answer import EncodePlacement
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.terms.notice import Scalar
from cardmatch.text.language import Language
from cardmatch.text.numerals import Numerals, numerals
from cardmatch.text.sentences import word

Placed = PlacementEstimate | TrainingPlacement | DiffusionPlacement | EncodePlacement
AnyPlacement = TypeVar("AnyPlacement", bound=Placed)


def estimated(
    answer: Answer,
    placements: Sequence[AnyPlacement],
    columns: Sequence[str],
    figures: Callable[[AnyPlacement, Numerals, Language], Sequence[str]],
    language: Language,
) -> str:
    """*answer*, whose *placements* have *figures* in *columns* after the cards and the verdict."""
    numbers, rows = numerals(language), []
    ways: list[str] = []
    lines: list[str] = []
    for each in placements:
        label = _label(each)
        rows.append((label, word("verdict", each.verdict, language), *figures(each, numbers, language)))
        ways += [f"  {label}: {way.message}" for way in each.ways_to_fit]
        for line in each.explanation or ():
            lines += [f"  {label}: {line.message}", f"    {_reckoned(line, numbers)}"]
        lines += [f"  {label}: {notice.message}" for notice in each.notices]
    notices = [notice.message for notice in answer.notices]
    return page(answer.summary, ("cards", "verdict", *columns), rows, "unit", [*ways, *lines, *notices], language)


def _reckoned(line: Explanation, numbers: Numerals) -> str:
    values = [f"{name} {_written(value, numbers)}" for name, value in line.numbers.items()]
    return f"{line.formula}   ({'; '.join(values)})"


def _written(value: Scalar, numbers: Numerals) -> str:
    if isinstance(value, str | bool):
        return str(value)
    return numbers.integer(value) if isinstance(value, int) else numbers.brief(value, 3)


def _label(placement: Placed) -> str:
    return f"{placement.count}× {placement.card or '–'}{' ' + placement.mig if placement.mig else ''}"
