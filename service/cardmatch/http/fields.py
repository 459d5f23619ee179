"""What fields are for, where their types do not say: fields.json, by struct; `*` has what means the same in all."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import msgspec


@functools.cache
def words() -> dict[str, dict[str, str]]:
    """Descriptions by struct and field."""
    raw = (resources.files("cardmatch.http") / "fields.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, dict[str, str]])


def told(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* of the struct *name* with a description of each field that has none of its own."""
    known = {**words()["*"], **words().get(name, {})}
    if "properties" not in schema:
        return schema
    fields = {
        field: each if "description" in each or field not in known else {"description": known[field], **each}
        for field, each in schema["properties"].items()
    }
    return {**schema, "properties": fields}
