"""Words for the structs of the engine, filled in once the figures stand."""

from __future__ import annotations

import re

from msgspec.structs import replace

from cardmatch.engine.terms.notice import Assumption, Notice
from cardmatch.text.language import Language
from cardmatch.text.sentences import knows, say

_INDEX = re.compile(r"/(\d+)(?=/|$)")
ANY_FIELD = "*"
"""The assumption about a field that has no sentence of its own."""


def with_message(notice: Notice, language: Language) -> Notice:
    """*notice* with its message."""
    return replace(notice, message=say("notices", notice.code, notice.params, language))


def with_messages(notices: tuple[Notice, ...], language: Language) -> tuple[Notice, ...]:
    """*notices* with their messages, in the same order."""
    return tuple([with_message(notice, language) for notice in notices])


def assumed(assumption: Assumption, language: Language) -> Assumption:
    """*assumption* with its message; the sentence is that of its pointer, any index of a list standing as `*`.

    Its placeholders: the last step of the pointer (`context_tokens`), and `position`, the index counted from 1.
    """
    pointer, index = assumption.pointer, None
    if not knows("assumptions", pointer, language):
        index = _INDEX.search(pointer)
        pointer = _INDEX.sub("/*", pointer)
    field = pointer.rpartition("/")[2]
    if not knows("assumptions", pointer, language):
        params = {"field": assumption.pointer, "value": assumption.value}
        return replace(assumption, message=say("assumptions", ANY_FIELD, params, language))
    params = {field: assumption.value}
    if index is not None:
        params["position"] = int(index[1]) + 1
    return replace(assumption, message=say("assumptions", pointer, params, language))


def all_assumed(assumptions: tuple[Assumption, ...], language: Language) -> tuple[Assumption, ...]:
    """*assumptions* with their messages, in the same order."""
    return tuple([assumed(assumption, language) for assumption in assumptions])
