"""Numbers, money, percentages and lists as a language writes them: Babel's locale data, read once, applied fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple

from cardmatch.engine.terms.units import GIB
from cardmatch.text.language import Language

_LOCALES = {Language.EN: "en", Language.ES: "es", Language.ZH: "zh_Hans"}
_PYTHONS = ".,-"
_GIB_BITS = GIB.bit_length() - 1
_QUANTA = tuple(Decimal(1).scaleb(-digits) for digits in range(9))


class Affixes(NamedTuple):
    """What stands before and after a number."""

    before: str
    after: str


class Joints(NamedTuple):
    """What stands between the members of a list: between two, between the first ones, before the last."""

    pair: str
    middle: str
    last: str


class Numerals(NamedTuple):
    """How one language writes numbers."""

    decimal: str
    group: str
    minus: str
    percent: Affixes
    usd: Affixes
    every: Joints
    either: Joints
    plural: Callable[[int], str]
    signs: Mapping[int, str | int]

    def integer(self, value: int) -> str:
        """*value* with its digits in groups."""
        return self._localised(f"{value:,d}") if value < 0 else f"{value:,d}".replace(",", self.group)

    def hundredths(self, value: int, shift: int) -> str:
        """*value* / 2^*shift* with two decimals, exact before it is rounded: half to even."""
        scaled = abs(value) * 100
        rounded = (scaled + (1 << shift - 1) - 1 + (scaled >> shift & 1)) >> shift
        whole, rest = divmod(rounded, 100)
        return f"{self.minus if value < 0 else ''}{self.integer(whole)}{self.decimal}{rest:02d}"

    def gib(self, size: int) -> str:
        """Bytes as a number of GiB, with two decimals and without the unit."""
        return self.hundredths(size, _GIB_BITS)

    def fixed(self, value: float | Decimal, digits: int) -> str:
        """*value* with exactly *digits* decimals, halves rounded to even as Babel does."""
        exact = value if isinstance(value, Decimal) else Decimal(repr(value))
        return self._localised(f"{exact.quantize(_QUANTA[digits]):,f}")

    def brief(self, value: float | Decimal, digits: int) -> str:
        """*value* with at most *digits* decimals, trailing zeros left out."""
        exact = value if isinstance(value, Decimal) else Decimal(repr(value))
        text = f"{exact.quantize(_QUANTA[digits]):,f}"
        return self._localised(text.rstrip("0").rstrip(".") if "." in text else text)

    def join(self, items: Sequence[str], joints: Joints) -> str:
        """The members of a list in one phrase."""
        if len(items) < 2:
            return items[0] if items else ""
        if len(items) == 2:
            return _joined(items[0], joints.pair, items[1])
        return _joined(joints.middle.join(items[:-1]), joints.last, items[-1])

    def _localised(self, text: str) -> str:
        """Python's own notation, `-1,234.5`, with this language's signs."""
        return text.translate(self.signs) if self.signs else text


def _joined(left: str, joint: str, right: str) -> str:
    """Two names and the joint between them; Chinese conjunctions keep their distance from Latin names."""
    if joint.isalpha() and left[-1:].isascii() and right[:1].isascii():
        return f"{left} {joint} {right}"
    return left + joint + right


@cache
def numerals(language: Language) -> Numerals:
    """How *language* writes numbers. Babel is imported here, by the first sentence, because that takes 30 ms."""
    from babel.core import Locale  # noqa: PLC0415 - a process that says nothing should not pay for it

    locale = Locale.parse(_LOCALES[language])
    symbols = locale.number_symbols["latn"]
    signs = symbols["decimal"] + symbols["group"] + symbols["minusSign"]
    dollar = locale.currency_symbols["USD"]
    percent = locale.percent_formats[None]
    money = locale.currency_formats["standard"]
    return Numerals(
        decimal=symbols["decimal"],
        group=symbols["group"],
        minus=symbols["minusSign"],
        percent=Affixes(percent.prefix[0], percent.suffix[0]),
        usd=Affixes(money.prefix[0].replace("¤", dollar), money.suffix[0].replace("¤", dollar)),
        every=_joints(locale.list_patterns["standard"]),
        either=_joints(locale.list_patterns["or"]),
        signs={} if signs == _PYTHONS else str.maketrans(_PYTHONS, signs),
        plural=lru_cache(maxsize=4096)(locale.plural_form),
    )


def _joints(patterns: dict[str, str]) -> Joints:
    """The words between `{0}` and `{1}`. Raises ValueError for a language that puts words around a list."""
    return Joints(*(_between(patterns[place]) for place in ("2", "middle", "end")))


def _between(pattern: str) -> str:
    if not (pattern.startswith("{0}") and pattern.endswith("{1}")):
        raise ValueError(f"not a joint: {pattern}")
    return pattern[len("{0}") : -len("{1}")]
