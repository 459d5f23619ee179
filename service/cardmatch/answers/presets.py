"""Presets that a request names: filled in, explained, and compared with the card that the guides point to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from cardmatch.catalogue.presets import presets
from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.expand import Expanded, expanded
from cardmatch.engine.advice.guides import differing, guided, told
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.terms.notice import Question, QuestionCode

W = TypeVar("W", bound=Wanted)


def filled_in(request: W, workload: msgspec.Struct | None) -> tuple[W, Expanded]:
    """*request* with what its presets stand for, and what they set; *workload* is None where it was left out.

    Raises Invalid where a preset is of another kind of workload.
    """
    found = expanded(request, workload, presets())
    changes = {field: getattr(found.wanted, field) for field in ("load", "job", "constraints")}
    if found.workload is not None:
        changes["workload"] = found.workload
    return msgspec.structs.replace(request, **changes), found


def explained(
    figures: Recommended, request: Wanted, found: Expanded, only: Callable[[tuple[str, ...]], Recommended]
) -> Recommended:
    """*figures* with what the presets of *request* set, and what the guides say; `only(cards)` asks about cards."""
    if not found.used:
        return figures
    said = [*figures.advice]
    if figures.options:
        first = figures.options[0]
        others = differing(found.used, first)
        for each in found.used:
            theirs = only(each.preset.cards).options[:1] if each in others else ()
            said += guided(each, first, theirs[0] if theirs else None)
    return msgspec.structs.replace(
        figures,
        advice=tuple(said),
        assumptions=(*figures.assumptions, *found.assumptions),
        ask_next=figures.ask_next or _question(request, found),
        notices=(*told(found.used), *figures.notices),
    )


def _question(request: Wanted, found: Expanded) -> Question | None:
    """The load or the amount of work, where a preset stands in for it: the fact that would change the answer most."""
    if isinstance(found.workload, Training):
        own = request.job is not None and (request.job.examples or request.job.train_tokens)
        filled = found.wanted.job is not None
        return Question(code=QuestionCode.TRAIN_TOKENS, pointer="/job") if filled and not own else None
    filled = found.wanted.load is not None and request.load is None
    return Question(code=QuestionCode.LOAD, pointer="/load") if filled else None
