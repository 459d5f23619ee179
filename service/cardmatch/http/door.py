"""The outermost application: an id for each request, a log line where it went wrong or slowly, no stack for anyone."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Mapping

import msgspec
import structlog

from cardmatch.http.asgi import App, Header, Message, Receive, Scope, Send, header
from cardmatch.http.cors import Cors
from cardmatch.http.gate import OWNER, Gate
from cardmatch.http.meter import UNMATCHED, Meter
from cardmatch.http.problems import Refused
from cardmatch.http.respond import REFUSED, refuse, send_whole
from cardmatch.text.problem import ProblemType

_log = structlog.get_logger(__name__)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# What a browser must not do with an answer: guess another type, or tell where its user came from.
_ALWAYS: tuple[Header, ...] = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))


# Whoever looks how things stand must be told just then when there is too much to do.
_NEVER_TOO_MANY = frozenset({"/livez", "/readyz", "/metrics"})


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for every request, whatever it asks."""

    log_slower_than_seconds: float = 1.0
    most_in_flight: int = 1024
    gate: Gate = Gate()
    cors: Cors | None = None


class Door:
    """Wraps the router. A POST to a path in *direct* goes straight to its operation, as the router would in the end."""

    def __init__(
        self, router: App, direct: Mapping[str, App], routes: Mapping[str, str], rules: Rules, meter: Meter
    ) -> None:
        """Serve under *rules* and count in *meter*; *routes* are the paths of operations by the router's templates."""
        self._router = router
        self._direct = direct
        self._routes = routes
        self._slow = rules.log_slower_than_seconds
        self._most = rules.most_in_flight
        self._gate = None if rules.gate.stands_open else rules.gate
        self._cors = rules.cors
        self._meter = meter
        self._prefix = os.urandom(6).hex().encode() + b"-"
        self._counter = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event; lifespan goes to the router."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        started = time.perf_counter()
        request_id, status = self._request_id(scope), 0
        headless = scope["method"] == "HEAD"
        added = self._added(scope, request_id)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += added
            elif headless:
                message["body"] = b""
            await send(message)

        self._meter.in_flight += 1
        try:
            await self._serve(scope, receive, sending)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets a problem and the log the stack
            _log.exception("request.failed", path=scope["path"], request_id=request_id.decode())
            if status == 0:
                await refuse(scope, sending, Refused(ProblemType.INTERNAL))
        finally:
            self._count(scope, status, time.perf_counter() - started, request_id)

    def route(self, scope: Scope) -> str:
        """The path of the operation that *scope* led to, with names for its parameters; once it was served."""
        path: str = scope["path"]
        if scope["method"] == "POST" and path in self._direct:
            return path
        template = scope.get("path_template") or UNMATCHED
        return self._routes.get(template, template)

    def _added(self, scope: Scope, request_id: bytes) -> list[Header]:
        added = [(b"x-request-id", request_id), *_ALWAYS]
        return added if self._cors is None else added + self._cors.headers(scope)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._cors is not None and (headers := self._cors.preflight(scope)) is not None:
            await send_whole(send, 204, b"", headers)
            return
        if self._meter.in_flight > self._most and scope["path"] not in _NEVER_TOO_MANY:
            await refuse(scope, send, Refused(ProblemType.UNAVAILABLE))
            return
        if self._gate is not None:
            try:
                await self._gate.check(scope)
            except Refused as refused:
                await refuse(scope, send, refused)
                return
        direct = self._direct.get(scope["path"]) if scope["method"] == "POST" else None
        await (direct or self._router)(scope, receive, send)

    def _count(self, scope: Scope, status: int, seconds: float, request_id: bytes) -> None:
        self._meter.in_flight -= 1
        self._meter.served(self.route(scope), scope["method"], status, seconds)
        if status >= 400 or seconds > self._slow:
            if REFUSED in scope:
                self._meter.refused(scope[REFUSED])
            _access(scope, status, seconds, request_id)

    def _request_id(self, scope: Scope) -> bytes:
        """The id that a proxy gave, if it may stand in a header and a log, else one of our own."""
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                given: bytes = value
                return given
        return self._prefix + b"%x" % next(self._counter)


def _access(scope: Scope, status: int, seconds: float, request_id: bytes) -> None:
    more = {"key": scope[OWNER]} if OWNER in scope else {}
    _log.info(
        "request",
        method=scope["method"],
        path=scope["path"],
        status=status,
        seconds=round(seconds, 6),
        request_id=request_id.decode(),
        user_agent=header(scope, b"user-agent")[:200],
        **more,
    )
