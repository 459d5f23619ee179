"""Numbers as people type them: `8k`, `1,5`, `2x rtx-4090`. Only the doors for people understand these."""

from __future__ import annotations

import re
from typing import NamedTuple

_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)?)\s*([kmg]?)", re.IGNORECASE)
_CARD = re.compile(r"(?:(\d{1,4})\s*[x×]\s*)?(.+?)(?::([0-9a-z.+]+))?", re.IGNORECASE)
_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


class NamedCard(NamedTuple):
    """How many of which card, and which MIG profile of it."""

    number: int
    card: str
    mig: str | None


def tokens(text: str) -> int:
    """A number of tokens; context lengths count in powers of two, so 8k is 8,192. Raises ValueError."""
    return _amount(text, _BINARY)


def count(text: str) -> int:
    """A number of things: 10k is 10,000. Raises ValueError."""
    return _amount(text, _DECIMAL)


def quantity(text: str) -> float:
    """A decimal number: 0.69, 1,5 or 2.5k; 1g is 10^9. Raises ValueError."""
    return _figure(text, _DECIMAL)


def card(text: str) -> NamedCard:
    """`rtx-4090`, `2x h100-sxm-80` or `a100-sxm-80:3g.40gb`. Raises ValueError."""
    match = _CARD.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    number, name, mig = match.groups()
    return NamedCard(int(number or 1), name.strip(), mig)


def _amount(text: str, units: dict[str, int]) -> int:
    figure = _figure(text, units)
    if not figure.is_integer():
        raise ValueError(text)
    return int(figure)


def _figure(text: str, units: dict[str, int]) -> float:
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return float(match[1].replace(",", ".")) * units[match[2].lower()]
