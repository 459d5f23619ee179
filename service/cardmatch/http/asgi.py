"""The little of ASGI that the door uses: its types, a header, a body within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from cardmatch.http.patience import Patience, TooSlow
from cardmatch.http.problems import Refused
from cardmatch.text.problem import ProblemType

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]
Header = tuple[bytes, bytes]


class Disconnected(Exception):  # noqa: N818 - what happened, not an error of ours
    """The client went away before its request was complete."""


def header(scope: Scope, name: bytes) -> str:
    """The first header called *name* (lower case), or an empty string."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


async def read_body(receive: Receive, declared: bytes, limit: int, patience: Patience) -> bytes:
    """The whole body of at most *limit* bytes; *declared* is its Content-Length, if that says where it ends.

    Raises Refused: too_large without reading on, or too_slow; and Disconnected where nobody is left to answer.
    """
    length = int(declared) if declared.isdigit() else -1
    if length > limit:
        raise Refused(ProblemType.TOO_LARGE, limit_bytes=limit)
    try:
        message = await patience.wait(receive())
        first = _part(message)
        # The server says that more may come until it has looked, and looking costs a turn of the loop.
        if len(first) == length or not message.get("more_body"):
            return _within(first, limit)
        return await _rest(receive, first, limit, patience)
    except TooSlow:
        raise Refused(ProblemType.TOO_SLOW) from None


async def _rest(receive: Receive, first: bytes, limit: int, patience: Patience) -> bytes:
    parts, size, more = [first], len(first), True
    since = asyncio.get_running_loop().time()
    while more and size <= limit:
        message = await patience.wait(receive(), since)
        parts.append(_part(message))
        size += len(parts[-1])
        more = message.get("more_body", False)
    return _within(b"".join(parts), limit)


def _part(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise Disconnected
    body: bytes = message.get("body", b"")
    return body


def _within(body: bytes, limit: int) -> bytes:
    if len(body) > limit:
        raise Refused(ProblemType.TOO_LARGE, limit_bytes=limit)
    return body
