"""Options as words of a command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple


class Written(NamedTuple):
    """How an option is written; a switch that is off is left out unless it has a name of its own."""

    flag: str
    when_false: str | None = None


@lru_cache(maxsize=16)
def _defaults(kind: Callable[[], Any]) -> Any:
    return kind()


def option_words(options: Any, names: Mapping[str, Written]) -> list[str]:
    """Every option that *names* has a flag for and that is not at its default."""
    defaults = _defaults(options.__class__)
    words: list[str] = []
    for field, written in names.items():
        value = getattr(options, field)
        if value is None or value == getattr(defaults, field):
            continue
        if isinstance(value, bool):
            words += [written.flag] if value else [written.when_false] if written.when_false else []
        else:
            words += [written.flag, _word(value)]
    return words


def layout_words(layout: Any, names: Mapping[str, str]) -> list[str]:
    """The kinds of parallelism that are used, by the flags that *names* has for them."""
    used = [(flag, getattr(layout, part)) for part, flag in names.items() if getattr(layout, part) > 1]
    return [word for flag, ranks in used for word in (flag, str(ranks))]


def _word(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(_word(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
