"""How the value of a placeholder is written: its unit is in its name, as everywhere on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from cardmatch.engine.terms.notice import Scalar
from cardmatch.engine.terms.units import GIB, KIB, MIB
from cardmatch.text.language import Language
from cardmatch.text.numerals import Joints, Numerals, numerals

Value = Scalar | list[str]
Write = Callable[[Value], str]
Words = Mapping[str, Mapping[str, str]]

LONGEST_TEXT = 120
"""Characters of a caller's own text that a sentence repeats; the rest is cut, so that an answer stays readable."""

TABLES = {
    "verdict": "verdict",
    "weights": "format",
    "kv_cache": "format",
    "format": "format",
    "formats": "format",
    "expected": "type",
    "got": "type",
    "link": "link",
    "workload": "workload",
    "model_kind": "workload",
    "engine": "engine",
    "engines": "engine",
    "tool": "tool",
    "what": "part_of_report",
    "unit": "work_unit",
    "has": "work_unit",
    "severity": "severity",
    "language": "language",
}
"""Placeholders whose values are looked up in a table of words of the data file."""

_LEAST_GIB = GIB // 100
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


class Voice(NamedTuple):
    """What writing a value takes: the numerals of a language, and its words for units and closed vocabularies."""

    numerals: Numerals
    words: Words


def voice(language: Language, words: Words) -> Voice:
    """The voice of *language* with the word tables of its data file."""
    return Voice(numerals(language), words)


def writer(name: str, listing: str, speaker: Voice) -> Write:
    """The function that writes values of the placeholder *name*; *listing* (`or`, else `and`) joins lists."""
    for suffix, write in BY_SUFFIX.items():
        if name == suffix.lstrip("_") or name.endswith(suffix):
            return partial(write, speaker)
    joints = speaker.numerals.either if listing == "or" else speaker.numerals.every
    words = speaker.words.get(TABLES.get(name, ""), {})
    return partial(_plain, speaker, words, speaker.words["boolean"], joints)


def _plain(speaker: Voice, words: Mapping[str, str], booleans: Mapping[str, str], joints: Joints, value: Value) -> str:
    """A name, a count or a list of names."""
    if isinstance(value, str):
        return words.get(value) or clipped(value)
    if isinstance(value, bool):
        return booleans["true" if value else "false"]
    if isinstance(value, int):
        return speaker.numerals.integer(value)
    if isinstance(value, float):
        return speaker.numerals.brief(value, 3)
    return speaker.numerals.join([words.get(item) or clipped(item) for item in value], joints)


def clipped(text: str) -> str:
    """*text*, or its beginning where it is long."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _number(value: Value) -> float:
    if isinstance(value, str | list):
        raise TypeError(f"not a number: {value!r}")
    return value


def _bytes(speaker: Voice, value: Value) -> str:
    """In GiB, so that all figures of an answer compare; MiB and KiB are for what would read as nothing there."""
    size = int(_number(value))
    if not -_LEAST_GIB < size < _LEAST_GIB or not size:
        return speaker.words["unit"]["gib"] % speaker.numerals.ratio(size, GIB, 2)
    if not -MIB < size < MIB:
        return speaker.words["unit"]["mib"] % speaker.numerals.brief(size / MIB, 1)
    return _kib(speaker, size)


def _kib(speaker: Voice, value: Value) -> str:
    return speaker.words["unit"]["kib"] % speaker.numerals.brief(_number(value) / KIB, 2)


def _gb(speaker: Voice, value: Value) -> str:
    return speaker.words["unit"]["gb"] % speaker.numerals.brief(_number(value), 1)


def _gb_s(speaker: Voice, value: Value) -> str:
    return speaker.words["unit"]["gb_s"] % speaker.numerals.brief(_number(value), 0)


def _tokens_s(speaker: Voice, value: Value) -> str:
    rate = _number(value)
    return speaker.words["unit"]["tokens_per_second"] % speaker.numerals.brief(rate, 1 if abs(rate) < 100 else 0)


def _integer(speaker: Voice, value: Value) -> str:
    return speaker.numerals.integer(int(_number(value)))


def _dollars(speaker: Voice, value: Value) -> str:
    amount = _number(value)
    before, after = speaker.numerals.usd
    sign = speaker.numerals.minus if amount < 0 else ""
    digits = 2 if not amount or abs(amount) >= 0.1 else 4
    return f"{sign}{before}{speaker.numerals.fixed(abs(amount), digits)}{after}"


def _dollars_an_hour(speaker: Voice, value: Value) -> str:
    return speaker.words["unit"]["usd_per_hour"] % _dollars(speaker, value)


def _dollars_a_month(speaker: Voice, value: Value) -> str:
    return speaker.words["unit"]["usd_per_month"] % _dollars(speaker, value)


def _percent(speaker: Voice, value: Value) -> str:
    before, after = speaker.numerals.percent
    return f"{before}{speaker.numerals.brief(_number(value), 1)}{after}"


def _duration(speaker: Voice, value: Value) -> str:
    seconds = _number(value)
    units, size = speaker.words["unit"], abs(seconds)
    if 0 < size < 1:
        return units["milliseconds"] % speaker.numerals.brief(seconds * 1_000, 1 if size < 0.01 else 0)
    if size < 2 * _MINUTE:
        return units["seconds"] % speaker.numerals.brief(seconds, 1)
    if size < 2 * _HOUR:
        return units["minutes"] % speaker.numerals.brief(seconds / _MINUTE, 0)
    if size < 2 * _DAY:
        return units["hours"] % speaker.numerals.brief(seconds / _HOUR, 1)
    return units["days"] % speaker.numerals.brief(seconds / _DAY, 1)


def _hours(speaker: Voice, value: Value) -> str:
    return speaker.words["unit"]["hours"] % speaker.numerals.brief(_number(value), 1)


def _parameters(speaker: Voice, value: Value) -> str:
    """In billions, as everyone names models: `8.03 B` counts 10^9 in every language's data sheet."""
    return speaker.words["unit"]["billions"] % speaker.numerals.brief(_number(value) / 1e9, 2)


BY_SUFFIX: dict[str, Callable[[Voice, Value], str]] = {
    "bytes_per_token": _kib,
    "_bytes": _bytes,
    "_tokens_per_second": _tokens_s,
    "_tokens": _integer,
    "_gb_s": _gb_s,
    "_gb": _gb,
    "_usd_per_hour": _dollars_an_hour,
    "_usd_per_month": _dollars_a_month,
    "_usd": _dollars,
    "_percent": _percent,
    "_seconds": _duration,
    "_hours": _hours,
    "_parameters": _parameters,
}
"""The unit suffixes of the wire, the longer before those that they end in."""

UNITS = (
    "gib", "mib", "kib", "gb", "gb_s", "tokens_per_second", "usd_per_hour", "usd_per_month",
    "milliseconds", "seconds", "minutes", "hours", "days", "billions",
)  # fmt: skip
"""The entries of each language's table of units."""
