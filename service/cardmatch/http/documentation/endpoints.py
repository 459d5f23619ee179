"""A page for each operation, made from the OpenAPI document: an example, what it takes, gives and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from cardmatch.http.documentation.kinds import describe, reached, resolved

_HERE = "http://127.0.0.1:8000"


class Endpoint(msgspec.Struct, frozen=True):
    """An operation of the document."""

    method: str
    path: str
    said: dict[str, Any]


def endpoints(document: dict[str, Any]) -> Iterator[Endpoint]:
    """Every operation, in the order of the document."""
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            yield Endpoint(method.upper(), path, said)


def table(document: dict[str, Any]) -> str:
    """All of them with their summaries, as HTML."""
    rows = "".join(
        f'<tr><td>{each.method}</td><td><a href="/docs/endpoints/{each.said["operationId"]}"><code>{escape(each.path)}'
        f"</code></a></td><td>{escape(each.said['summary'])}</td></tr>"
        for each in endpoints(document)
    )
    return f"<table>{rows}</table>"


def page(document: dict[str, Any], endpoint: Endpoint) -> str:
    """The page of one, as HTML."""
    said = endpoint.said
    taken = _content(said["requestBody"]) if "requestBody" in said else None
    given = _content(said["responses"]["200"])
    inside = reached(taken, document) if taken else {}
    parts = [f"<p>{escape(said['summary'])}</p><p>{_marked(said['description'])}</p>"]
    parts.append(f"<h2>Example</h2><pre><code>{escape(_curl(endpoint))}</code></pre>")
    if taken:
        parts.append(f"<h2>Request</h2>{_all(inside, document, taken=True)}")
    else:
        parts.append(f"<h2>Parameters</h2>{_parameters(said['parameters'], document)}")
    answered = {name: schema for name, schema in reached(given, document).items() if name not in inside}
    parts.append(f"<h2>Answer</h2><p>{describe(given)}</p>{_all(answered, document)}")
    if not taken:
        words = {name: each for each in said["parameters"] for name, each in reached(each["schema"], document).items()}
        parts.append(_all({name: each for name, each in words.items() if name not in answered}, document))
    return "".join([*parts, f"<h2>Refusals</h2>{_refusals(said['responses'], document)}"])


def _content(described: dict[str, Any]) -> dict[str, Any]:
    (content,) = described["content"].values()
    schema: dict[str, Any] = content["schema"]
    return schema


def _marked(text: str) -> str:
    """Sentences with their code marked, as descriptions have it."""
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(escape(text).split("`")))


def _curl(endpoint: Endpoint) -> str:
    said = endpoint.said
    if "requestBody" in said:
        body = json.dumps(said["requestBody"]["content"]["application/json"]["example"], indent=2, ensure_ascii=False)
        return f"curl -s {_HERE}{endpoint.path} -H 'content-type: application/json' -d '\n{body}'"
    given = {each["name"]: each for each in said["parameters"] if "example" in each}
    path = endpoint.path
    for name in [name for name, each in given.items() if each["in"] == "path"]:
        path = path.replace(f"{{{name}}}", quote(given.pop(name)["example"]))
    query = {name: _plain(each["example"]) for name, each in given.items()}
    return f"curl -s '{_HERE}{path}{'?' if query else ''}{urlencode(query, doseq=True)}'"


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool) else value


def _all(schemas: dict[str, Any], document: dict[str, Any], *, taken: bool = False) -> str:
    return "".join(_schema(name, schema, document, taken=taken) for name, schema in schemas.items())


def _schema(name: str, schema: dict[str, Any], document: dict[str, Any], *, taken: bool) -> str:
    head = f'<h3 id="{name}">{name}</h3><p>{_marked(schema.get("description", ""))}</p>'
    if "enum" in schema:
        return head + "<p>" + ", ".join(f"<code>{escape(str(word))}</code>" for word in schema["enum"]) + "</p>"
    required = set(schema.get("required", ())) if taken else None
    return head + _fields(schema.get("properties", {}), document, required)


def _parameters(parameters: list[dict[str, Any]], document: dict[str, Any]) -> str:
    fields = {each["name"]: {**each["schema"], "description": each["description"]} for each in parameters}
    return _fields(fields, document, {each["name"] for each in parameters if each["required"]})


def _fields(fields: dict[str, Any], document: dict[str, Any], required: set[str] | None) -> str:
    """A table of *fields*; of what is taken, with which are *required* and what the others are without."""
    heads = ("Field", "Type", *(() if required is None else ("Without it",)), "")
    rows = [tuple(f"<th>{head}</th>" for head in heads)]
    for name, schema in fields.items():
        about = schema.get("description") or resolved(schema, document).get("description", "")
        without = () if required is None else ("<b>required</b>" if name in required else _default(schema),)
        cells = (f"<code>{escape(name)}</code>", describe(schema), *without, _marked(about))
        rows.append(tuple(f"<td>{cell}</td>" for cell in cells))
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table>{lines}</table>"


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default is None else f"<code>{escape(json.dumps(default))}</code>"


def _refusals(responses: dict[str, Any], document: dict[str, Any]) -> str:
    said = document["components"]["responses"]
    rows = "".join(
        f"<tr><td>{status}</td><td>{escape(said[response['$ref'].rpartition('/')[2]]['description'])}</td></tr>"
        for status, response in responses.items()
        if status[0] in "45"
    )
    return f'<table>{rows}</table><p>Each is a <a href="/docs/problems">problem</a>.</p>'
