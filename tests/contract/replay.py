"""Whether the service still keeps what an earlier document promised: its requests are taken, its answers come."""

from __future__ import annotations

import contextlib
import json
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
from tests.http.asking import JSON, ask

EXAMPLES = Path(__file__).resolve().parents[2] / "openapi" / "examples"


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


def broken_answers(app: Door, document: dict[str, Any]) -> dict[str, str]:
    """For each example whose answer no longer fits *document*, where it does not. Fields may have been added."""
    schemas = _open(document["components"]["schemas"])
    broken: dict[str, str] = {}
    for path in sorted(EXAMPLES.glob("*.json")):
        example = json.loads(path.read_text(encoding="utf-8"))
        request = example["request"]
        operation = document["paths"].get(request["path"], {}).get(request["method"].lower())
        if operation is None or example["response"]["status"] != 200 or "body" not in request:
            continue
        answer = ask(app, request["method"], request["path"], json.dumps(request["body"]), JSON).json()
        (content,) = operation["responses"]["200"]["content"].values()
        with contextlib.suppress(StopIteration):
            validator = jsonschema.Draft202012Validator({**content["schema"], "components": {"schemas": schemas}})
            broken[path.stem] = next(validator.iter_errors(answer)).message[:300]
    return broken


def _open(node: Any) -> Any:
    """*node* with room for fields that later releases add."""
    if isinstance(node, dict):
        return {key: _open(value) for key, value in node.items() if (key, value) != ("additionalProperties", False)}
    return [_open(value) for value in node] if isinstance(node, list) else node
