"""A bare ASGI application that sends a body back: what any service on this server pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


async def app(scope: Any, receive: Any, send: Any, between: Callable[[bytes], object] | None = None) -> None:
    """Echo the body as JSON; lifespan is agreed to. *between* is called with the body before it goes back."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if between is not None:
        between(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
