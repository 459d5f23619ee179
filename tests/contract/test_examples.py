"""Every file of openapi/examples is a request with what it is answered; each is replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cardmatch.http.door import Door
from cardmatch.http.operations import OPERATIONS
from tests.http.asking import JSON, Response, ask

FOLDER = Path(__file__).resolve().parents[2] / "openapi" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.json"))


def _replayed(app: Door, request: dict[str, Any]) -> Response:
    body = json.dumps(request["body"]) if "body" in request else request.get("text", "")
    headers = {**(JSON if body else {}), **request.get("headers", {})}
    return ask(app, request["method"], request["path"], body, headers)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_answered_as_it_says(service: Door, path: Path) -> None:
    """The status is the one shown, and what is shown of the body is in it."""
    example = json.loads(path.read_text(encoding="utf-8"))
    assert example.keys() == {"title", "request", "response"}
    response = _replayed(service, example["request"])
    assert response.status == example["response"]["status"], response.body
    shown = example["response"].get("body")
    if shown is not None:
        assert _missing(shown, response.json(), "") == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_the_document(service: Door, root: Path, path: Path) -> None:
    """Requests that are answered and the answers themselves fit their schemas."""
    document = json.loads((root / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    example = json.loads(path.read_text(encoding="utf-8"))
    request, status = example["request"], str(example["response"]["status"])
    operation = document["paths"].get(request["path"].partition("?")[0], {}).get(request["method"].lower())
    if operation is None:
        pytest.skip("a path with a parameter in it, or one outside the document")
    if status == "200" and "body" in request:
        _check(request["body"], operation["requestBody"], document)
    answer = operation["responses"][status]
    if "$ref" in answer:
        answer = document["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    _check(_replayed(service, request).json(), answer, document)


def _check(value: Any, described: dict[str, Any], document: dict[str, Any]) -> None:
    (content,) = described["content"].values()
    jsonschema.validate(value, {**content["schema"], "components": document["components"]})


def _missing(shown: Any, given: Any, at: str) -> list[str]:
    """Where *shown* is not part of *given*: members of objects may be left out, items of lists may not."""
    if isinstance(shown, dict) and isinstance(given, dict):
        return [
            fault
            for key, value in shown.items()
            for fault in (_missing(value, given[key], f"{at}/{key}") if key in given else [f"{at}/{key} is missing"])
        ]
    if isinstance(shown, list) and isinstance(given, list) and len(shown) == len(given):
        return [
            fault for n, (a, b) in enumerate(zip(shown, given, strict=True)) for fault in _missing(a, b, f"{at}/{n}")
        ]
    return [] if shown == given else [f"{at}: {given!r} is not {shown!r}"]


def test_every_operation_has_an_example() -> None:
    """Whoever reads the examples sees each operation answered at least once."""
    answered = set()
    for path in EXAMPLES:
        example = json.loads(path.read_text(encoding="utf-8"))
        if example["response"]["status"] == 200:
            answered.add((example["request"]["method"], example["request"]["path"].partition("?")[0]))
    for operation in OPERATIONS:
        stem = operation.path.partition("{")[0]
        assert any(
            method == operation.method and (path == operation.path or ("{" in operation.path and path.startswith(stem)))
            for method, path in answered
        ), operation.path
