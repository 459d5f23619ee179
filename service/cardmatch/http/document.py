"""The OpenAPI document, made from the operations and their structs.

msgspec's own schemas are used, because a framework's lose what makes a document strict: refused unknown fields,
discriminators, bounds of list items, descriptions (and Litestar 2.25 does).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from cardmatch import __version__
from cardmatch.http.fields import told
from cardmatch.http.operation import Operation
from cardmatch.http.problems import MEDIA_TYPE, STATUS, Problem
from cardmatch.http.schema import ANY_OBJECT, ANY_OBJECT_SCHEMA, REFERENCE, complete, named_maps, readable
from cardmatch.http.structs import structs
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType, title

_BODY_ERRORS = (400, 401, 408, 413, 415, 422, 429, 500, 503)
_PARAMETER_ERRORS = (400, 401, 422, 429, 500, 503)
# A service may be set up to ask for a key; most are not. Said once for all: generators take what an operation says of
# its own for a duty.
_SECURITY: list[dict[str, list[str]]] = [{}, {"key": []}, {"bearer": []}]
_SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "Where the service asks for a key."},
    "bearer": {"type": "http", "scheme": "bearer", "description": "The same key, for clients that send it so."},
}
_HEADERS: dict[int, tuple[str, str, dict[str, Any]]] = {
    401: ("WWW-Authenticate", "How a key may be sent.", {"type": "string"}),
    429: ("Retry-After", "Seconds until the next request.", {"type": "integer", "minimum": 1, "maximum": 86400}),
    503: ("Retry-After", "Seconds until the next try.", {"type": "integer", "minimum": 1}),
}
_DESCRIPTION = (
    "Does it fit, which card, what does it cost? Every request is answered from a frozen catalogue: the same request, "
    "catalogue version and release give the same bytes. Errors are RFC 9457 problems. Words come in English, Spanish "
    "or Chinese, as `language` or Accept-Language ask."
)
_TAGS = {
    "questions": "Does it fit, which card, what does it cost?",
    "catalogue": "What the answers are reckoned from: models, cards, offers, providers.",
}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of *operations*, in their order."""
    operations = list(operations)
    schemas = _schemas([operation.takes for operation in operations], [*(each.gives for each in operations), Problem])
    if REFERENCE.format(name=ANY_OBJECT) in str(schemas):
        schemas[ANY_OBJECT] = ANY_OBJECT_SCHEMA
    paths: dict[str, Any] = {}
    tags = {operation.tag for operation in operations}
    parameters = {operation.takes.__name__ for operation in operations if operation.method == "GET"}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    whole: dict[str, Any] = readable(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Cardmatch",
                "version": __version__,
                "summary": "Which GPU card fits a model, and what it costs.",
                "description": _DESCRIPTION,
                "contact": {"name": "The contributors of Cardmatch"},
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "tags": [{"name": tag, "description": about} for tag, about in _TAGS.items() if tag in tags],
            "security": _SECURITY,
            "paths": paths,
            "components": {
                "schemas": {name: schema for name, schema in sorted(schemas.items()) if name not in parameters},
                "responses": {f"Problem{status}": _problem(status) for status in _statuses(operations)},
                "securitySchemes": _SCHEMES,
            },
        }
    )
    return whole


def _schemas(taken: list[Any], given: list[Any]) -> dict[str, dict[str, Any]]:
    _, schemas = msgspec.json.schema_components([*taken, *given], ref_template=REFERENCE)
    for struct in structs(given) - structs(taken):
        if not struct.__struct_config__.omit_defaults:
            schemas[struct.__name__] = complete(schemas[struct.__name__])
    said = (named_maps(name, told(name, readable(schema))) for name, schema in schemas.items())
    return {name: schema for each in said for name, schema in each.items()}


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = _content(_ref(operation.gives))
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.description,
        "tags": [operation.tag],
    }
    if operation.method == "GET":
        described["parameters"] = _parameters(operation, schemas[operation.takes.__name__])
    else:
        described["requestBody"] = {"required": True, "content": _content(_ref(operation.takes), operation.example)}
    described["responses"] = {"200": {"description": "The answer.", "content": answer}}
    if operation.cached:
        described["responses"]["304"] = {"description": "Not changed since the answer with the ETag that was sent."}
    for status in _errors(operation):
        described["responses"][str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    return described


def _parameters(operation: Operation, schema: dict[str, Any]) -> list[dict[str, Any]]:
    in_path = re.findall(r"\{(\w+)\}", operation.path)
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in required,
            **_parameter(prop),
            **({"example": operation.example[name]} if name in (operation.example or {}) else {}),
        }
        for name, prop in schema["properties"].items()
    ]


def _parameter(prop: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter and, beside it, its description. Left out is what null is in a body."""
    kinds = [kind for kind in prop.get("anyOf", [prop]) if kind != {"type": "null"}]
    rest = {key: value for key, value in prop.items() if key != "anyOf" and (key, value) != ("default", None)}
    schema = {**kinds[0], **rest} if len(kinds) == 1 else {"anyOf": kinds, **rest}
    return {"description": schema.pop("description", ""), "schema": schema}


def _errors(operation: Operation) -> Iterable[int]:
    if operation.method == "POST":
        return _BODY_ERRORS
    return sorted({*_PARAMETER_ERRORS, 404}) if "{" in operation.path else _PARAMETER_ERRORS


def _statuses(operations: Iterable[Operation]) -> list[int]:
    return sorted({status for operation in operations for status in _errors(operation)})


def _problem(status: int) -> dict[str, Any]:
    content = {MEDIA_TYPE.decode(): {"schema": _ref(Problem)}}
    kinds = [title(kind, Language.EN) for kind in ProblemType if STATUS[kind] == status]
    response = {"description": " Or: ".join(kinds), "content": content}
    if status in _HEADERS:
        name, about, schema = _HEADERS[status]
        response["headers"] = {name: {"description": about, "required": True, "schema": schema}}
    return response


def _content(schema: dict[str, Any], example: Any = None) -> dict[str, Any]:
    return {"application/json": {"schema": schema} if example is None else {"schema": schema, "example": example}}


def _ref(kind: Any) -> dict[str, Any]:
    """A reference to one struct; of several, told apart by a tag, whichever it is."""
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    return schema
