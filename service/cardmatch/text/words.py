"""Words for the structs of the engine, filled in once the figures stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

from msgspec.structs import replace

from cardmatch.engine.memory.answer import Change, PlacementEstimate, WayToFit
from cardmatch.engine.memory.diffusion.answer import DiffusionPlacement
from cardmatch.engine.memory.encode.answer import EncodePlacement
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.logs.compare import LogReading
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.terms.notice import Assumption, Notice, Question, QuestionCode, Scalar
from cardmatch.text.language import Language
from cardmatch.text.sentences import say, templates
from cardmatch.text.units import LONGEST_TEXT, Value

_INDEX = re.compile(r"/(\d+)(?=/|$)")
_OF_PREDICTION = re.compile(r"^/options/\d+/throughput(?:/prediction)?(?=/)")
ANY_FIELD = "*"
"""The sentence about a field that has none of its own."""


def with_message(notice: Notice, language: Language) -> Notice:
    """*notice* with its message."""
    params = notice.params
    values = [
        value
        for value in params.values()
        if not (isinstance(value, list) or (isinstance(value, str) and len(value) > LONGEST_TEXT))
    ]
    if len(values) < len(params):  # a list cannot be looked up, and a caller's own long text is not worth keeping
        return replace(notice, message=say("notices", notice.code, params, language))
    return replace(notice, message=sentence_of_notice(language, notice.code, tuple(params), *values))


@lru_cache(maxsize=4096, typed=True)  # the same cards and engines call for the same notices; typed, since 1 == True
def sentence_of_notice(language: Language, code: str, names: tuple[str, ...], *values: Scalar) -> str:
    """The message of a notice whose params are called *names* and are *values*."""
    return say("notices", code, dict(zip(names, values, strict=True)), language)


def with_messages(notices: tuple[Notice, ...], language: Language) -> tuple[Notice, ...]:
    """*notices* with their messages, in the same order."""
    return tuple([with_message(notice, language) for notice in notices])


def assumed(assumption: Assumption, language: Language) -> Assumption:
    """*assumption* with its message; the sentence is that of its pointer, any index of a list standing as `*`.

    What a prediction assumed is told as it would be of the same model and workload by themselves.

    Its placeholders: the last step of the pointer (`context_tokens`), and `position`, the index counted from 1.
    """
    return Assumption(
        pointer=assumption.pointer,
        value=assumption.value,
        message=sentence_of_assumption(assumption.pointer, assumption.value, language),
    )


@lru_cache(maxsize=4096, typed=True)  # defaults are the same from request to request; typed, since 1 == True
def sentence_of_assumption(pointer: str, value: Scalar, language: Language) -> str:
    """What is said of *value* having been assumed at *pointer*."""
    known = templates(language)["assumptions"]
    params: dict[str, Value] = {pointer.rpartition("/")[2]: value}
    template = known.get(pointer)
    if template is None:
        index = _INDEX.search(pointer)
        template = known.get(_INDEX.sub("/*", pointer)) or known.get(_OF_PREDICTION.sub("", pointer))
        if index is not None:
            params["position"] = int(index[1]) + 1
    if template is None:
        template, params = known[ANY_FIELD], {"field": pointer, "value": value}
    return template.fill(params)


def all_assumed(assumptions: tuple[Assumption, ...], language: Language) -> tuple[Assumption, ...]:
    """*assumptions* with their messages, in the same order."""
    return tuple([assumed(assumption, language) for assumption in assumptions])


def asked(unsaid: Question, language: Language) -> Question:
    """*unsaid* with its message."""
    return question(unsaid.code, unsaid.pointer, language)


@lru_cache(maxsize=256)  # there are few
def question(code: QuestionCode, pointer: str, language: Language) -> Question:
    """The question *code* about the field at *pointer*, with its message."""
    return Question(code=code, pointer=pointer, message=say("questions", code, {}, language))


AnyPlacement = TypeVar("AnyPlacement", PlacementEstimate, TrainingPlacement, DiffusionPlacement, EncodePlacement)


def placement_in_words(placement: AnyPlacement, cards: Mapping[str, str], language: Language) -> AnyPlacement:
    """*placement* with the messages of its notices, ways to fit and reckoning; *cards* names each catalogue id."""
    if placement.explanation is not None:
        lines = tuple([line_in_words(line, language) for line in placement.explanation])
        placement = replace(placement, explanation=lines)
    if not placement.notices and not placement.ways_to_fit:
        return placement
    ways = tuple([way_in_words(way, cards, language) for way in placement.ways_to_fit])
    return replace(placement, notices=with_messages(placement.notices, language), ways_to_fit=ways)


def line_in_words(line: Explanation, language: Language) -> Explanation:
    """*line* of a reckoning with its message: what its rule says of its numbers and of what comes out."""
    numbers: dict[str, Value] = {**line.numbers, "result_bytes": line.result_bytes}
    return replace(line, message=say("explain", line.rule, numbers, language))


def log_in_words(reading: LogReading | None, cards: Mapping[str, str], language: Language) -> LogReading | None:
    """*reading* with the messages of its cause and of what would fix it."""
    if reading is None or reading.cause is None:
        return reading
    fixes = tuple([way_in_words(way, cards, language) for way in reading.fixes])
    return replace(reading, cause=with_message(reading.cause, language), fixes=fixes)


def way_in_words(way: WayToFit, cards: Mapping[str, str], language: Language) -> WayToFit:
    """*way* with its message: the sentence of the set of fields that it changes."""
    changed = {_INDEX.sub("/*", change.pointer): change for change in way.changes}
    code = "+".join(sorted(changed))
    params: dict[str, Value] = {"verdict": way.verdict.value, "headroom_bytes": way.headroom_bytes}
    if code in templates(language)["changes"]:
        named = {pointer.rpartition("/")[2]: change.value for pointer, change in changed.items()}
        params.update({name: value for name, value in named.items() if value is not None})
    else:
        code = ANY_FIELD
        params["settings"] = [_setting(change, language) for change in way.changes]
    card = params.get("card")
    if isinstance(card, str):
        params["card"] = cards.get(card, card)
    return replace(way, message=say("changes", code, params, language))


def _setting(change: Change, language: Language) -> str:
    value = "null" if change.value is None else change.value
    return say("phrases", "setting", {"field": change.pointer, "value": value}, language)
