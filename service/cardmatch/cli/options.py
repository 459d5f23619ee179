"""Options of a comparison as people type them: `4090=rtx-4090:0.69@1000`, `api=api:0.2/0.6`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cardmatch.cli import shorthand
from cardmatch.engine.speed.reports.report import Tool

_OPTION = re.compile(r"([^=]{1,80})=([^@]+)(?:@(.+))?")
_TOOLS = {tool.value for tool in Tool}
_API, _BUY, _MODEL = "api:", "buy:", "model:"

GRAMMAR = (
    "LABEL=PRICE@SPEED. PRICE: dollars per hour (0.69), with a card (rtx-4090:0.69, 2x l40s:1.6), an offer id, "
    "buy:CARD, or api:INPUT/OUTPUT in dollars per million tokens. SPEED: units per second, model:NAME to predict "
    "it, or TOOL:FILE with the output of " + ", ".join(sorted(_TOOLS))
)


def option(text: str) -> dict[str, Any]:
    """The option that *text* stands for, as POST /cost takes it. Raises ValueError, OSError for a report not there."""
    match = _OPTION.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    label, price, speed = match[1].strip(), match[2].strip(), match[3]
    found = {"label": label, **_priced(price)}
    if speed is not None:
        found["throughput"] = _speed(speed.strip())
    return found


def _priced(text: str) -> dict[str, Any]:
    if text.startswith(_API):
        asked, slash, answered = text.removeprefix(_API).partition("/")
        if not slash:
            raise ValueError(text)
        rates = {
            "usd_per_million_input": shorthand.quantity(asked),
            "usd_per_million_output": shorthand.quantity(answered),
        }
        return {"price": {"kind": "token_api", **rates}}
    if text.startswith(_BUY):
        return {"price": {"kind": "purchase"}, **_cards(text.removeprefix(_BUY))}
    if "/" in text:
        return {"price": {"kind": "offer", "offer": text}}
    card, colon, dollars = text.rpartition(":")
    return {
        "price": {"kind": "caller", "usd_per_hour": shorthand.quantity(dollars)},
        **(_cards(card) if colon else {}),
    }


def _cards(text: str) -> dict[str, Any]:
    named = shorthand.card(text)
    return {"card": named.card, "count": named.number}


def _speed(text: str) -> dict[str, Any]:
    if text.startswith(_MODEL):
        return {"kind": "predicted", "model": text.removeprefix(_MODEL).strip()}
    tool, colon, path = text.partition(":")
    if colon and tool in _TOOLS:
        return {"kind": "report", "tool": tool, "text": Path(path).read_text(encoding="utf-8")}
    return {"kind": "measured", "units_per_second": shorthand.quantity(text)}


def sweep(text: str) -> dict[str, Any]:
    """`usd_per_hour=1,2,4`: a parameter and the values that it takes, apart by commas. Raises ValueError."""
    parameter, equals, values = text.partition("=")
    if not equals:
        raise ValueError(text)
    return {"parameter": parameter.strip(), "values": [shorthand.quantity(value) for value in values.split(",")]}


def currency(text: str) -> dict[str, Any]:
    """`EUR=1.16`: a currency and the dollars that one unit of it buys. Raises ValueError."""
    code, equals, usd = text.partition("=")
    if not equals:
        raise ValueError(text)
    return {"code": code.strip(), "usd": shorthand.quantity(usd)}
