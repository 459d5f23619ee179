"""Numbers as people type them: `8k`, `1,5`, `2x rtx-4090`. Only the doors for people understand these."""

from __future__ import annotations

import re
from typing import NamedTuple

_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)?)\s*([km]?)", re.IGNORECASE)
_CARD = re.compile(r"(?:(\d{1,4})\s*[x×]\s*)?(.+?)(?::([0-9a-z.+]+))?", re.IGNORECASE)
_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6}


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


def card(text: str) -> NamedCard:
    """`rtx-4090`, `2x h100-sxm-80` or `a100-sxm-80:3g.40gb`. Raises ValueError."""
    match = _CARD.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    number, name, mig = match.groups()
    return NamedCard(int(number or 1), name.strip(), mig)


def _amount(text: str, units: dict[str, int]) -> int:
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    figure = float(match[1].replace(",", ".")) * units[match[2].lower()]
    if not figure.is_integer():
        raise ValueError(text)
    return int(figure)
