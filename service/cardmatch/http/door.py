"""The outermost application: an id for each request, a log line where it went wrong or slowly, no stack for anyone."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Mapping

import structlog

from cardmatch.http.asgi import App, Message, Receive, Scope, Send, header
from cardmatch.http.problems import Refused
from cardmatch.http.respond import refuse
from cardmatch.text.problem import ProblemType

_log = structlog.get_logger(__name__)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Door:
    """Wraps the router. A POST to a path in *direct* goes straight to its operation, as the router would in the end."""

    def __init__(self, router: App, direct: Mapping[str, App], log_slower_than_seconds: float) -> None:
        """Log requests that take longer than *log_slower_than_seconds*; those that end in an error always."""
        self._router = router
        self._direct = direct
        self._slow = log_slower_than_seconds
        self._prefix = os.urandom(6).hex().encode() + b"-"
        self._counter = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event; lifespan goes to the router."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        started = time.perf_counter()
        path, request_id, status = scope["path"], self._request_id(scope), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id))
            elif scope["method"] == "HEAD":
                message["body"] = b""
            await send(message)

        try:
            posted = scope["method"] == "POST" and self._direct.get(path)
            await (posted or self._router)(scope, receive, sending)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets a problem and the log the stack
            _log.exception("request.failed", path=path, request_id=request_id.decode())
            if status == 0:
                await refuse(scope, sending, Refused(ProblemType.INTERNAL))
        finally:
            seconds = time.perf_counter() - started
            if status >= 400 or seconds > self._slow:
                _access(scope, path, status, seconds, request_id)

    def _request_id(self, scope: Scope) -> bytes:
        """The id that a proxy gave, if it may stand in a header and a log, else one of our own."""
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                given: bytes = value
                return given
        return self._prefix + b"%x" % next(self._counter)


def _access(scope: Scope, path: str, status: int, seconds: float, request_id: bytes) -> None:
    _log.info(
        "request",
        method=scope["method"],
        path=path,
        status=status,
        seconds=round(seconds, 6),
        request_id=request_id.decode(),
        user_agent=header(scope, b"user-agent")[:200],
    )
