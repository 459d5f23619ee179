"""Schemas in words: what a field may hold, and which types a schema leads to."""

from __future__ import annotations

from html import escape
from typing import Any

_BOUNDS = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))


def reached(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every named type that *schema* leads to, nearest first."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [schema]
    while waiting:
        next_ones: list[dict[str, Any]] = []
        for each in waiting:
            for name in _names(each):
                if name not in found:
                    found[name] = document["components"]["schemas"][name]
                    next_ones.append(found[name])
        waiting = next_ones
    return found


def _names(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for each in node for name in _names(each)]
    if not isinstance(node, dict):
        return []
    here = [node["$ref"].rpartition("/")[2]] if isinstance(node.get("$ref"), str) else []
    return here + [name for key, each in node.items() if key != "mapping" for name in _names(each)]


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """*schema*, or the type that it refers to."""
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def describe(schema: dict[str, Any]) -> str:
    """What *schema* takes, in a few words of HTML."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        # A field that is null when it is left out need not say so.
        kinds = [kind for kind in schema["anyOf"] if kind != {"type": "null"} or "default" not in schema]
        return " or ".join(dict.fromkeys(describe(kind) for kind in kinds))
    if "const" in schema:
        return f"<code>{escape(schema['const'])}</code>"
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(word))}</code>" for word in schema["enum"])
    return _plain(schema)


def _plain(schema: dict[str, Any]) -> str:
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        items = schema.get("items") or {}
        return f"list of {describe(items)}{_many(schema)}" if items else "list"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {describe(values)}" if isinstance(values, dict) and values else "object"
    if kind in {"integer", "number"}:
        bounds = [f"{sign} {schema[bound]:,}" for bound, sign in _BOUNDS if bound in schema]
        return kind + (f", {' and '.join(escape(bound) for bound in bounds)}" if bounds else "")
    if kind == "string" and schema.get("format") == "date":
        return "date"
    return kind


def _many(schema: dict[str, Any]) -> str:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if most is None:
        return ""
    return f", {least} of them" if least == most else f", {f'{least} to' if least else 'at most'} {most:,}"
