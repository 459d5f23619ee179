"""Whole responses: answers and problems."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cardmatch.http.asgi import Header, Scope, Send, header
from cardmatch.http.problems import MEDIA_TYPE, STATUS, Refused, problem
from cardmatch.text.language import Language, choose_language
from cardmatch.text.problem import ProblemType

_encode = msgspec.json.Encoder().encode
_VARY: Header = (b"vary", b"accept-language")
REFUSED = "cardmatch.refused"
"""Where the scope holds why a request was refused."""
_ANSWER: dict[Language, tuple[Header, ...]] = {
    it: ((b"content-type", b"application/json"), _VARY, (b"content-language", it.encode())) for it in Language
}


def answer_headers(language: Language) -> tuple[Header, ...]:
    """The headers of a JSON answer in *language*."""
    return _ANSWER[language]


async def send_whole(send: Send, status: int, body: bytes, headers: Iterable[Header]) -> None:
    """Send a response whose *body* is complete."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def refuse(scope: Scope, send: Send, refused: Refused, spoken: Language | None = None) -> None:
    """Send *refused* as a problem in the language that the body spoke of, or the one that the headers ask for."""
    language = choose_language(header(scope, b"accept-language"), spoken)
    media = (b"content-type", MEDIA_TYPE)
    spoken_in = (b"content-language", language.encode())
    body = _encode(problem(refused, language))
    scope[REFUSED] = refused
    await send_whole(send, STATUS[refused.kind], body, (media, _VARY, spoken_in, *_beside(refused)))


def _beside(refused: Refused) -> list[Header]:
    """The headers that HTTP asks for beside a status (RFC 9110 §11.6.1, §10.2.3; for 503 it may, §15.6.4)."""
    if refused.kind is ProblemType.UNAUTHORIZED:
        return [(b"www-authenticate", b'Bearer realm="cardmatch"')]
    if refused.kind is ProblemType.UNAVAILABLE:
        return [(b"retry-after", b"1")]
    if refused.kind is ProblemType.TOO_MANY_REQUESTS:
        return [(b"retry-after", str(refused.params["retry_after_seconds"]).encode())]
    return []
