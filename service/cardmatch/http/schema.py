"""What msgspec's schemas lack for people and for generators of clients: the same types, said so that everyone can read.

Nothing here changes what is taken or given; tests hold requests and answers to the result.
"""

from __future__ import annotations

from typing import Any

REFERENCE = "#/components/schemas/{name}"

ANY_OBJECT = "JsonObject"
"""Name of the type of objects of which nothing is known; generators have types for what has a name."""
ANY_OBJECT_SCHEMA = {
    "title": ANY_OBJECT,
    "description": "Any JSON object, as it comes.",
    "type": "object",
    "additionalProperties": True,
}


def named_maps(name: str, schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """*schema* of the struct *name* and, as types of their own, the maps of which a field may also be null."""
    found: dict[str, dict[str, Any]] = {}
    for field, each in schema.get("properties", {}).items():
        for place, kind in enumerate(each.get("anyOf", ())):
            if isinstance(kind.get("additionalProperties"), dict):
                title = name + "".join(part.capitalize() for part in field.split("_"))
                found[title] = {"title": title, "description": each.get("description", ""), **kind}
                each["anyOf"][place] = {"$ref": REFERENCE.format(name=title)}
    return {name: schema, **found}


def complete(schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* of a struct that only answers hold: every field is always there, so that none needs a default."""
    fields = {name: {k: v for k, v in each.items() if k != "default"} for name, each in schema["properties"].items()}
    return {**schema, "properties": fields, "required": list(fields)}


def readable(node: Any) -> Any:
    """*node* with plain bounds, typed words, one word as a constant, and tuples as lists of so many items.

    A struct or a mapping is no default: generators take none, and what is left out of it has defaults of its own.
    """
    if isinstance(node, list):
        return [readable(each) for each in node]
    if isinstance(node, dict):
        return _schema({key: readable(value) for key, value in node.items()})
    # `typing` keeps one of two equal annotations, 1 or 1.0, so which one depends on imports.
    return int(node) if isinstance(node, float) and node.is_integer() else node


def _schema(node: dict[str, Any]) -> dict[str, Any]:
    if isinstance(node.get("default"), dict) and not node["default"].keys() & {"type", "$ref", "anyOf"}:
        node = {key: value for key, value in node.items() if key != "default"}
    node = _lifted(node)
    words = node.get("enum")
    if isinstance(words, list) and "type" not in node and all(isinstance(word, str) for word in words):
        rest = {key: value for key, value in node.items() if key != "enum"}
        return {"type": "string", **rest, **({"const": words[0]} if len(words) == 1 else {"enum": words})}
    if node == {"type": "object"}:
        return {"$ref": REFERENCE.format(name=ANY_OBJECT)}
    if "prefixItems" in node:
        rest = {key: value for key, value in node.items() if key not in {"prefixItems", "items"}}
        return {**rest, "items": _either(node["prefixItems"])}
    return {**node, "items": {}} if node.get("type") == "array" and "items" not in node else node


def _lifted(node: dict[str, Any]) -> dict[str, Any]:
    """*node* with the description of its only kind beside null as its own, which is where readers look for it."""
    kinds = [kind for kind in node.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) != 1 or "description" in node or "description" not in kinds[0]:
        return node
    rest = {key: value for key, value in kinds[0].items() if key != "description"}
    return {"description": kinds[0]["description"], **node, "anyOf": [rest, {"type": "null"}]}


def _either(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """Whichever of *kinds*, each once. Generators know no lists whose places differ in kind."""
    flat = [part for kind in kinds for part in kind.get("anyOf", [kind])]
    once = [kind for place, kind in enumerate(flat) if kind not in flat[:place]]
    return once[0] if len(once) == 1 else {"anyOf": once}
