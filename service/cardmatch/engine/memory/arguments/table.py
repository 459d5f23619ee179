"""Options of a program and how they are read: by name, with or without a value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

import msgspec

from cardmatch.engine.memory.arguments.found import POINTER, Found, wrong_value
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

MOST_RANKS = 1024
Put = Callable[[Found, str], None]


class Takes(Enum):
    """Whether an option has a value: always, never, or where the next word is no option."""

    VALUE = "value"
    NOTHING = "nothing"
    MAYBE = "maybe"


class Flag(msgspec.Struct, frozen=True):
    """An option that changes memory. *put* notes what its value means; it raises ValueError for a wrong one."""

    put: Put
    takes: Takes = Takes.VALUE


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All options of a program: those with an effect, those that are known to have none, those not computed.

    `spelling` brings a written name to the one that the table has (vLLM takes underscores too); `positional` reads
    words that belong to no option.
    """

    engine: str
    effective: Mapping[str, Flag]
    without_effect: frozenset[str]
    not_considered: frozenset[str] = frozenset()
    spelling: Callable[[str], str] = str
    positional: Put | None = None


def words(text: str) -> frozenset[str]:
    """The names in *text*, written with spaces between them."""
    return frozenset(text.split())


def option(field: str, read: Callable[[str], Any]) -> Put:
    """Sets *field* of the engine's options."""

    def put(found: Found, value: str) -> None:
        found.options[field] = read(value)

    return put


def workload(field: str, read: Callable[[str], Any]) -> Put:
    """Sets *field* of the workload."""

    def put(found: Found, value: str) -> None:
        found.workload[field] = read(value)

    return put


def constant(field: str, value: Any) -> Flag:
    """A switch that sets *field* of the engine's options to *value*; `=false` turns a boolean round."""

    def put(found: Found, written: str) -> None:
        off = written.lower() in {"false", "0", "off"}
        found.options[field] = (not value) if off and isinstance(value, bool) else value

    return Flag(put, Takes.NOTHING)


def layout(part: str) -> Flag:
    """Sets the ranks of one kind of parallelism."""

    def put(found: Found, value: str) -> None:
        ranks = int(value)
        if not 1 <= ranks <= MOST_RANKS:
            raise ValueError(value)
        found.layout[part] = ranks

    return Flag(put)


def read_words(words: Iterable[str], table: Table, found: Found) -> None:
    """Note in *found* what *words* say. Raises Invalid for options that *table* does not know, with suggestions."""
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if not _is_option(word):
            if table.positional is not None:
                table.positional(found, word)
            continue
        written, given, value = word.partition("=")
        name = table.spelling(written)
        flag = table.effective.get(name)
        if flag is None:
            _note(name, written, table, found)
            while not given and pending and not _is_option(pending[0]):
                pending.pop(0)
            continue
        if not given and flag.takes is not Takes.NOTHING and pending and not _is_option(pending[0]):
            value, given = pending.pop(0), "="
        if flag.takes is Takes.VALUE and not given:
            fault = Fault(code=FaultCode.ARGUMENT_WITHOUT_VALUE, pointer=POINTER, params={"argument": written})
            raise Invalid(fault)
        _put(flag, found, written, value)


def _put(flag: Flag, found: Found, written: str, value: str) -> None:
    before = dict(found.options)
    try:
        flag.put(found, value)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise wrong_value(written, value) from None
    for field, now in found.options.items():
        if field not in before or before[field] is not now:
            found.origin[field] = (written, value)


def _note(name: str, written: str, table: Table, found: Found) -> None:
    if name in table.without_effect:
        found.without_effect.append(written)
    elif name in table.not_considered:
        found.not_considered.append(written)
    else:
        known = [*table.effective, *table.without_effect, *table.not_considered]
        raise Invalid(
            Fault(
                code=FaultCode.ARGUMENT_UNKNOWN,
                pointer=POINTER,
                params={"argument": written[:120], "engine": table.engine},
                suggestions=tuple(difflib.get_close_matches(name, known, 3, 0.7)),
            )
        )


def _is_option(word: str) -> bool:
    """Whether *word* names an option; `-1` is a number and `-` a file."""
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and word[1] != "."
