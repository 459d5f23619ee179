"""Whether the service still keeps what an earlier document promised: its requests are taken, its answers come."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from cardmatch.http.decode import decode_body
from cardmatch.http.door import Door
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.problems import Refused
from tests.contract.narrowing import GROWING
from tests.http.asking import JSON, ask

OPENAPI = Path(__file__).resolve().parents[2] / "openapi"


class Promise(msgspec.Struct):
    """What a release promised: its document, and its examples by name."""

    document: dict[str, Any]
    examples: dict[str, Any]


def promise(folder: Path) -> Promise:
    """What lies in *folder*: openapi.json and examples/."""
    document = json.loads((folder / "openapi.json").read_text(encoding="utf-8"))
    paths = sorted((folder / "examples").glob("*.json"))
    return Promise(document, {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths})


def broken_requests(document: dict[str, Any], cases: int) -> dict[str, str]:
    """For each POST of *document* whose bodies are no longer all taken, why one was not; *cases* are tried of each.

    Only the shape counts: a name that is unknown, or figures that contradict each other, no document rules out.
    """
    schema = schemathesis.openapi.from_dict(document)
    takes = {operation.path: operation.takes for operation in OPERATIONS if operation.method == "POST"}
    broken: dict[str, str] = {}
    for path in (path for path, methods in document["paths"].items() if "post" in methods):
        if path not in takes:
            broken[path] = "there is no such operation any more"
            continue
        strategy = schema[path]["POST"].as_strategy(generation_mode=GenerationMode.POSITIVE)
        if why := _untaken(strategy, msgspec.json.Decoder(takes[path]), cases):
            broken[path] = why
    return broken


def _untaken(strategy: Any, decoder: msgspec.json.Decoder[Any], cases: int) -> str | None:
    steady = settings(
        max_examples=cases,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )

    @steady
    @given(case=strategy)
    def every_body_is_taken(case: Any) -> None:
        decode_body(msgspec.json.encode(case.body), decoder)

    try:
        every_body_is_taken()
    except Refused as refused:
        return str(refused)
    return None


def broken_answers(app: Door, promised: Promise) -> dict[str, str]:
    """For each example that is not answered as it was *promised*, how: another status, or an answer of another shape.

    Figures may change with the catalogue and with what is learnt; fields may have been added.
    """
    schemas = _open(promised.document["components"]["schemas"])
    broken: dict[str, str] = {}
    for name, example in promised.examples.items():
        request, status = example["request"], example["response"]["status"]
        body = json.dumps(request["body"]) if "body" in request else request.get("text", "")
        headers = {**(JSON if body else {}), **request.get("headers", {})}
        answer = ask(app, request["method"], request["path"], body, headers)
        if answer.status != status:
            broken[name] = f"is answered {answer.status}"
        elif (content := _content(promised.document, request, status)) is not None:
            with contextlib.suppress(StopIteration):
                validator = jsonschema.Draft202012Validator({**content["schema"], "components": {"schemas": schemas}})
                broken[name] = next(validator.iter_errors(answer.json())).message[:300]
    return broken


def _content(document: dict[str, Any], request: dict[str, Any], status: int) -> dict[str, Any] | None:
    path = request["path"].partition("?")[0]
    for template, methods in document["paths"].items():
        if re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(template)), path):
            described = methods[request["method"].lower()]["responses"][str(status)]
            if "$ref" in described:
                described = document["components"]["responses"][described["$ref"].rpartition("/")[2]]
            found: dict[str, Any]
            (found,) = described["content"].values()
            return found
    return None


def _open(node: Any) -> Any:
    """*node* with room for what later releases add: fields, and words of the vocabularies that grow."""
    if isinstance(node, dict):
        grows = node.get("title") in GROWING
        kept = {key: value for key, value in node.items() if (key, value) != ("additionalProperties", False)}
        return {key: _open(value) for key, value in kept.items() if not (grows and key == "enum")}
    return [_open(value) for value in node] if isinstance(node, list) else node
