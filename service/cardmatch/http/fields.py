"""What fields are for, where their types do not say: fields.json, by struct; `*` has what means the same in all."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import msgspec

UNITS = frozenset(
    {
        "Bytes.",
        "GB (10^9 bytes).",
        "Hours.",
        "ISO 8601 date.",
        "Number of parameters.",
        "Per year.",
        "Seconds.",
        "Tokens.",
        "Tokens; zero where not even one fits.",
        "US dollars per hour.",
        "US dollars.",
        "Units of work.",
        "Weeks.",
    }
)
"""What types of quantities say of themselves: in which unit they are, but not what they are."""


@functools.cache
def words() -> dict[str, dict[str, str]]:
    """Descriptions by struct and field."""
    raw = (resources.files("cardmatch.http") / "fields.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, dict[str, str]])


def told(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* of the struct *name* with a description of each field that has none of its own, or but a unit."""
    known = {**words()["*"], **words().get(name, {})}
    if "properties" not in schema:
        return schema
    fields = {
        field: {"description": known[field], **{key: value for key, value in each.items() if key != "description"}}
        if field in known and each.get("description") in {None, *UNITS}
        else each
        for field, each in schema["properties"].items()
    }
    return {**schema, "properties": fields}
