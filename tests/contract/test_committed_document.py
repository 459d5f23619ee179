"""openapi/openapi.json is the contract: it is the document that is served, and every part of it is strict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from cardmatch.http.door import Door
from cardmatch.http.fields import UNITS, words
from cardmatch.http.operation import Operation
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.structs import structs
from tests.http.asking import ask, post
from tools.openapi import written


@pytest.fixture(scope="module")
def committed(root: Path) -> dict[str, Any]:
    """The document that lies in the repository."""
    found: dict[str, Any] = json.loads((root / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    return found


def test_the_committed_document_is_current(root: Path) -> None:
    """A change of the wire shows in the diff; `make openapi` writes it."""
    current = (root / "openapi" / "openapi.json").read_text(encoding="utf-8")
    assert current == written(), "the wire has changed: run `make openapi` and look at what it did"


def test_every_operation_is_described(committed: dict[str, Any]) -> None:
    """A chatbot's action needs an id, a summary and a description of at most 300 characters, and an example."""
    for path, methods in committed["paths"].items():
        for operation in methods.values():
            assert re.fullmatch(r"[a-z][A-Za-z]+", operation["operationId"]), path
            assert 0 < len(operation["summary"]) <= 300, path
            assert 40 < len(operation["description"]) <= 300, path
            if "requestBody" in operation:
                assert operation["requestBody"]["content"]["application/json"]["example"], path
            else:
                assert any("example" in parameter for parameter in operation["parameters"]), path


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_example_of_the_document_is_answered(service: Door, operation: Operation) -> None:
    """What a reader tries first works."""
    path, example = operation.path, dict(operation.example)
    if operation.method == "POST":
        assert post(service, example, path=path).status == 200
        return
    for name in re.findall(r"\{(\w+)\}", path):
        path = path.replace(f"{{{name}}}", example.pop(name))
    given = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in example.items()}
    assert ask(service, "GET", f"{path}?{urlencode(given, doseq=True)}").status == 200


def test_every_reference_resolves(committed: dict[str, Any]) -> None:
    """No reference leads out of the document or to nothing."""
    references = [node["$ref"] for node in _nodes(committed) if isinstance(node.get("$ref"), str)]
    assert len(references) > 100
    for reference in set(references):
        assert reference.startswith("#/"), reference
        node = committed
        for part in reference[2:].split("/"):
            node = node[part]


def test_alternatives_are_told_apart(committed: dict[str, Any]) -> None:
    """Of several structs a discriminator says which it is; nothing else that is an object may stand there."""
    schemas = committed["components"]["schemas"]
    for node in _nodes(committed):
        kinds = [schemas[kind["$ref"].rpartition("/")[2]] for kind in node.get("anyOf", []) if "$ref" in kind]
        of_objects = [kind for kind in kinds if kind["type"] == "object"]
        if len(of_objects) > 1:
            tag = node["discriminator"]["propertyName"]
            assert all("const" in kind["properties"][tag] for kind in of_objects), node


def _described(committed: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Struct, field and description of every field of a body or an answer, and of every parameter."""
    schemas = committed["components"]["schemas"]
    for name, schema in schemas.items():
        for field, each in schema.get("properties", {}).items():
            of_type = schemas[each["$ref"].rpartition("/")[2]] if "$ref" in each else {}
            yield name, field, each.get("description") or of_type.get("description", "")
    for operation in OPERATIONS:
        for parameter in committed["paths"][operation.path][operation.method.lower()].get("parameters", []):
            yield operation.takes.__name__, parameter["name"], parameter["description"]


def test_every_field_and_parameter_is_described(committed: dict[str, Any]) -> None:
    """By its type (`Meta(description=…)`) or, where that says nothing, in http/fields.json under its struct or `*`."""
    assert [f"{name}.{field}" for name, field, said in _described(committed) if not said or said in UNITS] == []


def test_no_description_of_a_field_is_left_over(committed: dict[str, Any]) -> None:
    """What stands in http/fields.json is what the document says; a field that went, or says it itself, needs none."""
    said = {(name, field): words for name, field, words in _described(committed)}
    listed = {(name, field): each for name, fields in words().items() if name != "*" for field, each in fields.items()}
    assert {place for place, each in listed.items() if said.get(place) != each} == set()
    assert set(words()["*"].values()) <= set(said.values())


def test_names_of_types_are_plain(committed: dict[str, Any]) -> None:
    """Two structs of one name would both go by their whole module path; generators of clients make types of them."""
    assert [name for name in committed["components"]["schemas"] if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", name)] == []


def test_ids_of_operations_are_unique(committed: dict[str, Any]) -> None:
    """Client generators name functions after them."""
    ids = [operation["operationId"] for methods in committed["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))


def test_patterns_refuse_a_newline_at_the_end(committed: dict[str, Any]) -> None:
    """Python's `$` also matches before a last newline, ECMAScript's does not; with a lookahead they mean the same."""
    patterns = [str(node["pattern"]) for node in _nodes(committed) if isinstance(node.get("pattern"), str)]
    assert patterns
    for pattern in patterns:
        assert not re.search(r"\$(?!\(\?!\\n\))", pattern), pattern
        assert pattern.startswith("^"), pattern


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(value)


def test_every_number_has_both_bounds(committed: dict[str, Any]) -> None:
    """With both, neither NaN nor infinity passes in either direction, and no figure of an answer is absurd."""
    least, most = {"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}
    unbounded = [
        f"{name}: {node}"
        for name, schema in committed["components"]["schemas"].items()
        for node in _nodes(schema)
        if node.get("type") in ("integer", "number") and not (least & node.keys() and most & node.keys())
    ]
    assert unbounded == []


def test_every_request_refuses_unknown_fields() -> None:
    """Each struct that may stand in a request is frozen, keyword-only and strict, however deep it stands."""
    loose = []
    for operation in OPERATIONS:
        for cls in structs([operation.takes]):
            config = cls.__struct_config__
            if not (config.frozen and config.forbid_unknown_fields):
                loose.append(f"{operation.path}: {cls.__name__}")
    assert loose == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_request_may_say_its_language(operation: Any) -> None:
    """`language` is a field of every request, so that words never depend on a header that a client cannot set."""
    assert "language" in operation.takes.__struct_fields__


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_size_limits_are_those_of_the_wire(operation: Any) -> None:
    """4 MiB for a question, 64 KiB elsewhere."""
    assert operation.limit_bytes == (4 << 20 if operation.method == "POST" else 64 << 10)
