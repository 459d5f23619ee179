"""The little of ASGI that the door uses: its types, a header, a body within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from cardmatch.http.problems import Refused
from cardmatch.text.problem import ProblemType

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]
Header = tuple[bytes, bytes]


def header(scope: Scope, name: bytes) -> str:
    """The first header called *name* (lower case), or an empty string."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


async def read_body(receive: Receive, declared: bytes, limit: int, seconds: float) -> bytes:
    """The whole body of at most *limit* bytes, sent within *seconds*; *declared* is its Content-Length, if any.

    Raises Refused: too_large without reading on, or too_slow; and Disconnected where nobody is left to answer.
    """
    if declared.isdigit() and int(declared) > limit:
        raise Refused(ProblemType.TOO_LARGE, limit_bytes=limit)
    message = await _received(receive, seconds)
    if not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        return _within(body, limit)
    return await _rest(receive, message.get("body", b""), limit, seconds)


async def _rest(receive: Receive, first: bytes, limit: int, seconds: float) -> bytes:
    parts, size, more = [first], len(first), True
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while more:
        message = await _received(receive, end - loop.time())
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise Refused(ProblemType.TOO_LARGE, limit_bytes=limit)
        more = message.get("more_body", False)
    return _within(b"".join(parts), limit)


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise Refused(ProblemType.TOO_LARGE, limit_bytes=limit)
    return body


async def _received(receive: Receive, seconds: float) -> Message:
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
    except TimeoutError:
        raise Refused(ProblemType.TOO_SLOW) from None
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message


class Disconnected(Exception):  # noqa: N818 - what happened, not an error of ours
    """The client went away before its request was complete."""
