"""The sentences themselves: one data file a language, read when it is first spoken, compiled into templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cardmatch.text.language import Language
from cardmatch.text.units import Value, Voice, Write, voice, writer

Text = str | dict[str, Any]
"""A sentence, or its forms: `{"by": "requests", "one": …, "other": …}`.

A count chooses by its CLDR plural category, a word or a truth value (`"true": …`) by itself. Forms may have forms.
"""

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)(?:\|(or))?\}")
FAMILIES = (
    "notices", "faults", "problems", "details", "assumptions",
    "questions", "summaries", "phrases", "changes", "explain",
)  # fmt: skip
_DATA = Path(__file__).parent / "data"


class Sentences(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data file: the sentences of each family by code, and the words for units and closed vocabularies."""

    notices: dict[str, Text]
    faults: dict[str, Text]
    problems: dict[str, Text]
    details: dict[str, Text]
    assumptions: dict[str, Text]
    questions: dict[str, Text]
    summaries: dict[str, Text]
    phrases: dict[str, Text]
    changes: dict[str, Text]
    explain: dict[str, Text]
    words: dict[str, dict[str, str]]


class Template(NamedTuple):
    """A sentence ready to be filled in: printf pattern, the placeholders in order, and how each is written."""

    pattern: str
    slots: tuple[tuple[str, Write], ...]

    def fill(self, params: Mapping[str, Value]) -> str:
        """The sentence with *params* in it. Raises KeyError where one is missing."""
        return self.pattern % tuple([write(params[name]) for name, write in self.slots])


class Forms(NamedTuple):
    """A sentence whose form depends on a parameter: a count by its plural category, a word or a truth by itself."""

    by: str
    plural: Callable[[int], str]
    forms: dict[str, Template | Forms]

    def fill(self, params: Mapping[str, Value]) -> str:
        """The form that goes with the parameter, else `other`. Raises KeyError where any parameter is missing."""
        return (self.forms.get(self._form(params[self.by])) or self.forms["other"]).fill(params)

    def _form(self, value: Value) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return self.plural(value)
        raise TypeError(f"{self.by} chooses no form: {value!r}")


_STRAY = re.compile(r" (?<=[\u4e00-\u9fff] )(?=[\u4e00-\u9fff])")
"""A space that set off a name, where the name ends in Chinese itself; spaces are few, so it opens with one."""


def say(family: str, code: str, params: Mapping[str, Value], language: Language) -> str:
    """The sentence for *code* in *language*.

    Raises KeyError for a code without a sentence or a placeholder without a parameter: both are mistakes of the
    program, which the tests of this room look for in all others.
    """
    return templates(language)[family][code].fill(params)


@cache
def sentences(language: Language) -> Sentences:
    """The data file of *language*, as it is."""
    return msgspec.json.decode((_DATA / f"{language}.json").read_bytes(), type=Sentences)


@cache
def templates(language: Language) -> dict[str, dict[str, Template | Forms]]:
    """Every sentence of *language*, compiled, by family and code."""
    data = sentences(language)
    speaker = speaker_of(language)
    return {
        family: {code: _compiled(text, speaker) for code, text in getattr(data, family).items()} for family in FAMILIES
    }


@cache
def speaker_of(language: Language) -> Voice:
    """How *language* writes values."""
    return voice(language, sentences(language).words)


def forms_of(text: Text) -> Iterator[str]:
    """Every sentence that *text* may become."""
    if isinstance(text, str):
        yield text
    else:
        for name, form in text.items():
            if name != "by":
                yield from forms_of(form)


def _compiled(text: Text, speaker: Voice) -> Template | Forms:
    if isinstance(text, str):
        slots = tuple((name, writer(name, listing, speaker)) for name, listing in PLACEHOLDER.findall(text))
        return Template(PLACEHOLDER.sub("%s", text.replace("%", "%%")), slots)
    by = text["by"]
    if not isinstance(by, str):
        raise TypeError(f"`by` names a placeholder: {by!r}")
    forms = {category: _compiled(form, speaker) for category, form in text.items() if category != "by"}
    return Forms(by, speaker.numerals.plural, forms)


def word(table: str, value: str, language: Language) -> str:
    """The word of *language* for *value* of a closed vocabulary, or *value* itself where it needs none."""
    return sentences(language).words[table].get(value, value)


def join_sentences(said: Sequence[str], language: Language) -> str:
    """Whole sentences one after the other, with the space between them that the language's script has."""
    text = sentences(language).words["between"]["sentences"].join(said)
    return _STRAY.sub("", text) if language is Language.ZH else text
