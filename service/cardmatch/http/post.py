"""Operations that take a body: strict decoding, answer, bytes.

This is plain ASGI, which Litestar routes to. Its own handlers decode laxly (`"2"` for 2, `1` for true) and take twice
the server's time; `make bench` shows the figures.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
import structlog

from cardmatch.answers.hosted import Fetch, answered
from cardmatch.catalogue.guests import ModelWanted
from cardmatch.engine.terms.fault import Invalid
from cardmatch.http.asgi import Disconnected, Receive, Scope, Send, read_body
from cardmatch.http.decode import decode_body, spoken_language
from cardmatch.http.meter import Series
from cardmatch.http.operation import Operation, World
from cardmatch.http.patience import Patience
from cardmatch.http.problems import Refused, refusal
from cardmatch.http.respond import answer_headers, refuse, send_whole
from cardmatch.text.language import Language, choose_language
from cardmatch.text.problem import ProblemType

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
_JSON = b"application/json"


class Post:
    """The ASGI application of one operation that takes a body."""

    def __init__(
        self, operation: Operation, world: World, patience: Patience, timing: Series, fetch: Fetch | None = None
    ) -> None:
        """Answer *operation* from what *world* returns at the time, with *patience* for bodies that are slow.

        *fetch* gets models that the catalogue lacks; *timing* counts how long answers take that need none.
        """
        self._fetch = fetch
        self._timing = timing
        self._answer = operation.answer
        self._limit = operation.limit_bytes
        self._decoder = msgspec.json.Decoder(operation.takes)
        self._world = world
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. What is wrong with it becomes a problem; mistakes of ours pass through."""
        raw = b""
        try:
            media, length, accept = _headers(scope)
            _check_media(media)
            raw = await read_body(receive, length, self._limit, self._patience)
            request = decode_body(raw, self._decoder)
            language = choose_language(accept, request.language)
            world, started = self._world(), time.perf_counter()
            try:
                answer = self._answer(world, request, language)
                self._timing.add(time.perf_counter() - started)
            except ModelWanted as wanted:
                answer = await self._fetching(world, request, language, wanted)
            body = _encode(answer)
        except Disconnected:
            _log.info("request.abandoned", path=scope["path"])
        except Refused as refused:
            await refuse(scope, send, refused, spoken_language(raw))
        except Invalid as invalid:
            await refuse(scope, send, refusal(invalid), spoken_language(raw))
        except RecursionError as error:  # JSON that decodes, and is still too deep for what walks it
            _log.warning("request.nested_too_deeply", path=scope["path"], exc_info=error)
            await refuse(scope, send, Refused(ProblemType.NESTED_TOO_DEEPLY), spoken_language(raw))
        else:
            await send_whole(send, 200, body, answer_headers(language))

    async def _fetching(self, world: Any, request: Any, language: Language, wanted: ModelWanted) -> Any:
        return await answered(lambda hosting: self._answer(hosting, request, language), world, wanted, self._fetch)


def _headers(scope: Scope) -> tuple[bytes, bytes, str]:
    """Content-Type, Content-Length and Accept-Language, in one pass; empty where missing.

    A body in chunks ends where its last chunk does, whatever Content-Length says beside it (RFC 9112 §6.3).
    """
    media = length = accept = b""
    chunked = False
    for name, value in scope["headers"]:
        if name == b"content-type":
            media = value
        elif name == b"content-length":
            length = value
        elif name == b"transfer-encoding":
            chunked = True
        elif name == b"accept-language":
            accept = value
    return media, b"" if chunked else length, accept.decode("latin-1")


def _check_media(media: bytes) -> None:
    if media != _JSON and media.partition(b";")[0].strip().lower() != _JSON:
        raise Refused(ProblemType.MEDIA_TYPE, media_type=media.decode("latin-1"))
