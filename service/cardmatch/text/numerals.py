"""Numbers, money, percentages and lists as a language writes them: Babel's locale data, read once, applied fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple

from cardmatch.text.language import Language

_LOCALES = {Language.EN: "en", Language.ES: "es", Language.ZH: "zh_Hans"}
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

    def integer(self, value: int) -> str:
        """*value* with its digits in groups."""
        return self._localised(f"{value:,d}")

    def fixed(self, value: float | Decimal, digits: int) -> str:
        """*value* with exactly *digits* decimals, halves rounded to even as Babel does."""
        exact = value if isinstance(value, Decimal) else Decimal(repr(value))
        return self._localised(f"{exact.quantize(_QUANTA[digits]):,f}")

    def brief(self, value: float | Decimal, digits: int) -> str:
        """*value* with at most *digits* decimals, trailing zeros left out."""
        exact = value if isinstance(value, Decimal) else Decimal(repr(value))
        text = f"{exact.quantize(_QUANTA[digits]):,f}"
        return self._localised(text.rstrip("0").rstrip(".") if "." in text else text)

    def ratio(self, numerator: int, denominator: int, digits: int) -> str:
        """The quotient of two integers with *digits* ≥ 1 decimals, exact before it is rounded (halves to even)."""
        scale = 10**digits
        quotient, rest = divmod(abs(numerator) * scale, denominator)
        if 2 * rest > denominator or (2 * rest == denominator and quotient & 1):
            quotient += 1
        whole, decimals = divmod(quotient, scale)
        sign = "-" if numerator < 0 else ""
        return self._localised(f"{sign}{whole:,d}.{decimals:0{digits}d}")

    def join(self, items: Sequence[str], joints: Joints) -> str:
        """The members of a list in one phrase."""
        if len(items) < 2:
            return items[0] if items else ""
        if len(items) == 2:
            return joints.pair.join(items)
        return joints.last.join((joints.middle.join(items[:-1]), items[-1]))

    def _localised(self, text: str) -> str:
        """Python's own notation, `-1,234.5`, with this language's signs."""
        if self.decimal == "." and self.group == "," and self.minus == "-":
            return text
        return text.translate(_signs(self.decimal, self.group, self.minus))


@cache
def _signs(decimal: str, group: str, minus: str) -> dict[int, str]:
    return str.maketrans({".": decimal, ",": group, "-": minus})


@cache
def numerals(language: Language) -> Numerals:
    """How *language* writes numbers. Babel is imported here, by the first sentence, because that takes 30 ms."""
    from babel.core import Locale  # noqa: PLC0415 - a process that says nothing should not pay for it

    locale = Locale.parse(_LOCALES[language])
    symbols = locale.number_symbols["latn"]
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
        plural=lru_cache(maxsize=4096)(locale.plural_form),
    )


def _joints(patterns: dict[str, str]) -> Joints:
    """The words between `{0}` and `{1}`. Raises ValueError for a language that puts words around a list."""
    return Joints(*(_between(patterns[place]) for place in ("2", "middle", "end")))


def _between(pattern: str) -> str:
    if not (pattern.startswith("{0}") and pattern.endswith("{1}")):
        raise ValueError(f"not a joint: {pattern}")
    return pattern[len("{0}") : -len("{1}")]
