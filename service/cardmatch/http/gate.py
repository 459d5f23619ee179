"""Who gets in: keys and the rate limit, before a body is read. Probes and documentation stay open."""

from __future__ import annotations

import math
from typing import Protocol

import msgspec

from cardmatch.http.asgi import Scope, header
from cardmatch.http.client import address_of
from cardmatch.http.problems import Refused
from cardmatch.keys import Keyring
from cardmatch.text.problem import ProblemType

_OPEN = frozenset({"/", "/livez", "/readyz", "/docs", "/openapi.json"})
_OPEN_FOLDER = "/docs/"
_UNLIMITED = frozenset({"/metrics"})
OWNER = "cardmatch.owner"
"""Where the scope holds the name of the key that a request came with."""


class Limiter(Protocol):
    """Whoever counts the requests of each client."""

    async def wait(self, client: str) -> float:
        """Seconds until *client* may send again; 0.0 if it may now."""
        ...


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What a request must have and how many there may be; with neither, everybody gets in."""

    keys: Keyring = Keyring()
    limiter: Limiter | None = None
    trusted_proxies: int = 0

    @property
    def stands_open(self) -> bool:
        """Whether there is nothing to check."""
        return not self.keys.entries and self.limiter is None

    async def check(self, scope: Scope) -> None:
        """Let *scope* pass, or raise Refused: unauthorized, too_many_requests."""
        path = scope["path"].rstrip("/") or "/"
        if path in _OPEN or path.startswith(_OPEN_FOLDER):
            return
        owner = None
        if self.keys.entries:
            owner = self.keys.owner(_presented(scope))
            if owner is None:
                raise Refused(ProblemType.UNAUTHORIZED)
            scope[OWNER] = owner
        if self.limiter is not None and path not in _UNLIMITED:
            who = f"key:{owner}" if owner else f"ip:{address_of(scope, self.trusted_proxies)}"
            seconds = await self.limiter.wait(who)
            if seconds > 0:
                raise Refused(ProblemType.TOO_MANY_REQUESTS, retry_after_seconds=max(1, math.ceil(seconds)))


def _presented(scope: Scope) -> bytes:
    """The key in `X-API-Key`, or in `Authorization: Bearer`."""
    if key := header(scope, b"x-api-key"):
        return key.strip().encode("latin-1")
    scheme, _, token = header(scope, b"authorization").partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else b""
