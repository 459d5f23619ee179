"""Reading transcribed sources and writing data files in one canonical layout."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any

import msgspec


def read_json(path: pathlib.Path) -> Any:
    """The JSON document at *path*."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: pathlib.Path) -> list[dict[str, Any]]:
    """The JSON documents at *path*, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def one_row_a_line(head: dict[str, Any], key: str, rows: Iterable[Any]) -> bytes:
    """A JSON object of *head* and of *rows* under *key*, one row a line, so that a diff shows the rows that changed."""
    opening = msgspec.json.format(msgspec.json.encode(head), indent=1)[:-2]
    body = b",\n".join(msgspec.json.encode(row) for row in rows)
    return opening + b',\n "' + key.encode() + b'": [\n' + body + b"\n ]\n}\n"


def without_defaults(row: msgspec.Struct) -> dict[str, Any]:
    """The fields of *row* that differ from their defaults: what a data file needs to say."""
    fields = msgspec.structs.fields(row)
    values = ((field.name, getattr(row, field.name), field.default) for field in fields)
    return {name: value for name, value, default in values if value != default and value not in ((), {})}


def lines(rows: Iterable[Any]) -> bytes:
    """One JSON document a line."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
