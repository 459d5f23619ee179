"""How the value of a placeholder is written: its unit is in its name, as everywhere on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
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
    "precision": "precision",
    "optimizer": "optimizer",
    "attention": "attention",
    "sharding": "sharding",
    "method": "method",
    "targets": "target",
    "link": "link",
    "workload": "workload",
    "model_kind": "workload",
    "fitting": "workload",
    "offload": "component_offload",
    "phase": "phase",
    "engine": "engine",
    "engines": "engine",
    "tool": "tool",
    "what": "part_of_report",
    "unit": "work_unit",
    "work_unit": "work_unit",
    "has": "work_unit",
    "severity": "severity",
    "objective": "objective",
    "profile": "profile",
    "job": "job",
    "kind": "workload",
    "ecc": "ecc",
    "language": "language",
}
"""Placeholders whose values are looked up in a table of words of the data file."""

_LEAST_GIB = GIB // 100
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_HUNDRED, _TEN_CENTS = 100, 0.1
_KIB_DIGITS = 2


class Voice(NamedTuple):
    """What writing a value takes: the numerals of a language, its words for units and closed vocabularies, and sizes.

    `size` writes bytes, and remembers some: weights and cards are of the same sizes in many answers.
    """

    numerals: Numerals
    words: Words
    size: Callable[[int], str]


def voice(language: Language, words: Words) -> Voice:
    """The voice of *language* with the word tables of its data file."""
    return Voice(numerals(language), words, lru_cache(maxsize=4096)(_size(numerals(language), words["unit"])))


def writer(name: str, listing: str, speaker: Voice) -> Write:
    """The function that writes values of the placeholder *name*; *listing* (`or`, else `and`) joins lists."""
    suffix = suffix_of(name)
    if suffix is not None:
        return BY_SUFFIX[suffix](speaker)
    words = speaker.words.get(TABLES.get(name, ""), {})
    return _plain(speaker, words, speaker.numerals.either if listing == "or" else speaker.numerals.every)


def suffix_of(name: str) -> str | None:
    """The unit suffix that *name* ends in, or is."""
    return next((suffix for suffix in BY_SUFFIX if f"_{name}".endswith(suffix)), None)


def _plain(speaker: Voice, words: Mapping[str, str], joints: Joints) -> Write:
    """A name, a count or a list of names."""
    numbers, booleans = speaker.numerals, speaker.words["boolean"]

    def write(value: Value) -> str:
        if isinstance(value, str):
            return words.get(value) or clipped(value)
        if isinstance(value, bool):
            return booleans["true" if value else "false"]
        if isinstance(value, int):
            return numbers.integer(value)
        if isinstance(value, float):
            return numbers.brief(value, 3)
        return numbers.join([words.get(item) or clipped(item) for item in value], joints)

    return write


def clipped(text: str) -> str:
    """*text*, or its beginning where it is long."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _number(value: Value) -> float:
    if isinstance(value, (str, list)):  # a union takes several times as long, in every figure
        raise TypeError(f"not a number: {value!r}")
    return value


def _whole(value: Value) -> int:
    return value if type(value) is int else int(_number(value))


def _size(numbers: Numerals, unit: Mapping[str, str]) -> Callable[[int], str]:
    """In GiB, so that all figures of an answer compare; MiB and KiB are for what would read as nothing there."""
    gib, mib, kib = unit["gib"], unit["mib"], unit["kib"]

    def write(size: int) -> str:
        if size >= _LEAST_GIB or size <= -_LEAST_GIB or not size:
            return gib % numbers.gib(size)
        return mib % numbers.brief(size / MIB, 1) if abs(size) >= MIB else kib % numbers.brief(size / KIB, _KIB_DIGITS)

    return write


def _bytes(speaker: Voice) -> Write:
    write = speaker.size
    return lambda value: write(_whole(value))


def _scaled(unit: str, digits: int, divisor: float = 1) -> Callable[[Voice], Write]:
    """A number over *divisor* with at most *digits* decimals, in a unit of the language's table."""

    def make(speaker: Voice) -> Write:
        pattern, brief = speaker.words["unit"][unit], speaker.numerals.brief
        return lambda value: pattern % brief(_number(value) / divisor, digits)

    return make


_kib = _scaled("kib", _KIB_DIGITS, KIB)


def _tokens_per_second(speaker: Voice) -> Write:
    """Three digits or so: 43.2, but 1,234."""
    precise, rough = _scaled("tokens_per_second", 1)(speaker), _scaled("tokens_per_second", 0)(speaker)
    return lambda value: (precise if abs(_number(value)) < _HUNDRED else rough)(value)


def _bandwidth(speaker: Voice) -> Write:
    """Memory in whole GB/s, networks to the thousandth: 3,352, but 0.125."""
    precise, rough = _scaled("gb_s", 3)(speaker), _scaled("gb_s", 0)(speaker)
    return lambda value: (precise if abs(_number(value)) < _HUNDRED else rough)(value)


def _integer(speaker: Voice) -> Write:
    write = speaker.numerals.integer
    return lambda value: write(_whole(value))


def _dollars(speaker: Voice) -> Write:
    """Cents; of amounts under ten cents two digits more."""
    numbers = speaker.numerals
    before, after = numbers.usd

    def write(value: Value) -> str:
        amount = _number(value)
        digits = 2 if not amount or abs(amount) >= _TEN_CENTS else 4
        sign = numbers.minus if amount < 0 else ""
        return f"{sign}{before}{numbers.fixed(abs(amount), digits)}{after}"

    return write


def _dollars_a(unit: str) -> Callable[[Voice], Write]:
    def make(speaker: Voice) -> Write:
        pattern, dollars = speaker.words["unit"][unit], _dollars(speaker)
        return lambda value: pattern % dollars(value)

    return make


def _percent(speaker: Voice) -> Write:
    before, after = speaker.numerals.percent
    brief = speaker.numerals.brief
    return lambda value: f"{before}{brief(_number(value), 1)}{after}"


def _duration(speaker: Voice) -> Write:
    """In the largest unit of which there are at least two."""
    steps = [
        (limit, _scaled(unit, digits, size)(speaker))
        for limit, unit, digits, size in (
            (0.01, "milliseconds", 1, 0.001),
            (1, "milliseconds", 0, 0.001),
            (2 * _MINUTE, "seconds", 1, 1),
            (2 * _HOUR, "minutes", 0, _MINUTE),
            (2 * _DAY, "hours", 1, _HOUR),
        )
    ]
    days, seconds = _scaled("days", 1, _DAY)(speaker), _scaled("seconds", 1)(speaker)

    def write(value: Value) -> str:
        size = abs(_number(value))
        return next((step for limit, step in steps if size < limit), days)(value) if size else seconds(value)

    return write


BY_SUFFIX: dict[str, Callable[[Voice], Write]] = {
    "_bytes_per_token": _kib,
    "_bytes": _bytes,
    "_tokens_per_second": _tokens_per_second,
    "_tokens": _integer,
    "_gb_s": _bandwidth,
    "_gb": _scaled("gb", 1),
    "_usd_per_hour": _dollars_a("usd_per_hour"),
    "_usd_per_month": _dollars_a("usd_per_month"),
    "_usd": _dollars,
    "_percent": _percent,
    "_seconds": _duration,
    "_hours": _scaled("hours", 1),
    "_parameters": _scaled("billions", 2, 1e9),
}
"""The unit suffixes of the wire, the longer before those that they end in."""

UNITS = (
    "gib", "mib", "kib", "gb", "gb_s", "tokens_per_second", "usd_per_hour", "usd_per_month",
    "milliseconds", "seconds", "minutes", "hours", "days", "billions",
)  # fmt: skip
"""The entries of each language's table of units."""
