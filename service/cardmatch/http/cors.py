"""Pages of other origins that may ask from a browser: none, unless a setting names them."""

from __future__ import annotations

from cardmatch.http.asgi import Header, Scope, header

_METHODS = b"GET, HEAD, POST"
_REQUEST_HEADERS = b"authorization, content-type, if-none-match, x-api-key, x-request-id"
_RESPONSE_HEADERS = b"content-language, etag, retry-after, x-request-id"
_PREFLIGHT_SECONDS = b"7200"


class Cors:
    """The headers that let pages of *origins* read answers; `*` stands for every origin."""

    def __init__(self, origins: frozenset[str]) -> None:
        """Cookies are never involved, so that `*` gives nobody another's rights."""
        self._origins = origins
        self._any = "*" in origins

    def headers(self, scope: Scope) -> list[Header]:
        """What to add to the response."""
        allowed = self._allowed(scope)
        vary: list[Header] = [] if self._any else [(b"vary", b"origin")]
        if allowed is None:
            return vary
        return [
            *vary,
            (b"access-control-allow-origin", allowed),
            (b"access-control-expose-headers", _RESPONSE_HEADERS),
        ]

    def preflight(self, scope: Scope) -> list[Header] | None:
        """The headers of the answer to a browser that asks whether it may ask; None where *scope* is no such request.

        Whether it may is for `headers` to say: without its word, a browser does not go on.
        """
        if scope["method"] != "OPTIONS" or not header(scope, b"access-control-request-method"):
            return None
        if self._allowed(scope) is None:
            return []
        return [
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _REQUEST_HEADERS),
            (b"access-control-max-age", _PREFLIGHT_SECONDS),
        ]

    def _allowed(self, scope: Scope) -> bytes | None:
        origin = header(scope, b"origin")
        if not origin:
            return None
        if self._any:
            return b"*"
        return origin.encode("latin-1") if origin in self._origins else None
