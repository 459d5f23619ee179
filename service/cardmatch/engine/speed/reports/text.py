"""The shapes in which benchmark tools print: JSON, JSON lines, labelled lines, tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_RULES = "|│┃"
_LAST_LINES = 4000
"""Lines at the end of a text that are looked at: no tool prints more, and texts of callers may be anything."""
_BLANK = re.compile(r"\n\s+")
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def documents(text: str) -> list[dict[str, Any]]:
    """The JSON objects of *text*: one, a list of them, or one a line; text around them is passed over.

    NaN and Infinity, which Python tools write for an unlimited request rate, are read as null.
    """
    start = text.find("{")
    if start < 0:
        return []
    opened = text.rfind("[", 0, start)
    begin = opened if opened >= 0 and not text[opened + 1 : start].strip() else start
    first, end = _decoded(text, begin)
    if first is None or text[end:].strip():
        rows = [_decoded(line, 0)[0] for line in last_lines(text[begin:]) if line[:1] + line.rstrip()[-1:] == "{}"]
        if any(row is not None for row in rows):
            return [row for row in rows if isinstance(row, dict)]
    return [row for row in (first if isinstance(first, list) else [first]) if isinstance(row, dict)]


def _decoded(text: str, begin: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, begin


def last_lines(text: str) -> list[str]:
    """The lines at the end of *text*, where tools print what they found; blank lines do not count."""
    return _BLANK.sub("\n", text).replace("\r", "").rsplit("\n", _LAST_LINES)[-_LAST_LINES:]


def labels(text: str) -> dict[str, str]:
    """What stands behind each label of lines such as `Request throughput (req/s):   1.73`; the last run counts."""
    found: dict[str, str] = {}
    for line in last_lines(text):
        label, colon, value = line.partition(":")
        if colon and value.strip():
            found[label.strip().lower()] = value.strip().split()[0]
    return found


def cells(text: str) -> Iterator[list[str]]:
    """The rows of tables drawn with rules (Markdown or box characters), each as its stripped cells."""
    for line in last_lines(text):
        stripped = line.strip()
        if stripped and stripped[0] in _RULES:
            for rule in _RULES[1:]:
                stripped = stripped.replace(rule, _RULES[0])
            yield [cell.strip() for cell in stripped.strip(_RULES[0]).split(_RULES[0])]
