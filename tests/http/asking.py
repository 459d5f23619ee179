"""Asking an ASGI application one thing at a time, down to the chunks that a body comes in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from cardmatch.http.asgi import App, Message

JSON = {"content-type": "application/json"}


class Response(msgspec.Struct):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)


def ask(
    app: App,
    method: str,
    url: str,
    body: bytes | str = b"",
    headers: Mapping[str, str] | None = None,
    chunks: Sequence[bytes | None] | None = None,
) -> Response:
    """One request. *chunks* replaces *body* piece by piece, without a Content-Length; None in it hangs up."""
    return asyncio.run(asking(app, method, url, body, headers, chunks))


def post(
    app: App, body: bytes | str | object, headers: Mapping[str, str] | None = None, path: str = "/ask"
) -> Response:
    """POST *body*, encoded where it is not text, as JSON."""
    raw = body if isinstance(body, bytes | str) else msgspec.json.encode(body)
    return ask(app, "POST", path, raw, {**JSON, **(headers or {})})


async def asking(
    app: App,
    method: str,
    url: str,
    body: bytes | str = b"",
    headers: Mapping[str, str] | None = None,
    chunks: Sequence[bytes | None] | None = None,
) -> Response:
    """The same as `ask`, within a running loop."""
    raw = body.encode() if isinstance(body, str) else body
    sent = {} if chunks is not None or not raw else {"content-length": str(len(raw))}
    scope = _scope(method, url, {"host": "localhost", **(headers or {}), **sent})
    parts = iter([raw] if chunks is None else chunks)
    left = 1 if chunks is None else len(chunks)
    messages: list[Message] = []

    async def receive() -> Message:
        nonlocal left
        part = next(parts, None)
        left -= 1
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": left > 0}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    if not messages:
        return Response(0, {}, b"")
    start = messages[0]
    headers_back = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Response(start["status"], headers_back, b"".join(message.get("body", b"") for message in messages[1:]))


def _scope(method: str, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = url.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        "state": {},
        "extensions": {},
    }
