"""Every file of openapi/examples is a request with what it is answered; each is replayed."""

from __future__ import annotations

import json
import re
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
    operation = _operation(document, request)
    if status == "200" and "body" in request:
        _check(request["body"], operation["requestBody"], document)
    answer = operation["responses"][status]
    if "$ref" in answer:
        answer = document["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    _check(_replayed(service, request).json(), answer, document)


def _operation(document: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    path = request["path"].partition("?")[0]
    for template, methods in document["paths"].items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(template)), path):
            found: dict[str, Any] = methods[request["method"].lower()]
            return found
    raise AssertionError(f"{path} is not in the document")


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


def test_every_operation_has_an_example(root: Path) -> None:
    """Whoever reads the examples sees each operation answered at least once."""
    document = json.loads((root / "openapi" / "openapi.json").read_text(encoding="utf-8"))
    examples = [json.loads(path.read_text(encoding="utf-8")) for path in EXAMPLES]
    answered = {
        _operation(document, example["request"])["operationId"]
        for example in examples
        if example["response"]["status"] == 200
    }
    assert answered == {operation.name for operation in OPERATIONS}
