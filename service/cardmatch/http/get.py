"""Operations that take parameters: those of path and query as one struct, with an ETag where they are cached."""

from __future__ import annotations

import re
import time

import msgspec

from cardmatch import __version__
from cardmatch.engine.terms.fault import Invalid
from cardmatch.http.asgi import Header, Receive, Scope, Send, header
from cardmatch.http.meter import Series
from cardmatch.http.operation import Operation, Versioned, World
from cardmatch.http.parameters import decode_parameters
from cardmatch.http.problems import Refused, refusal
from cardmatch.http.respond import answer_headers, refuse, send_whole
from cardmatch.text.language import Language, choose_language
from cardmatch.text.problem import ProblemType

_LANGUAGE = re.compile(rb"(?:^|&)language=(en|es|zh)(?:&|$)")
_encode = msgspec.json.Encoder().encode
# A new catalogue may show up a minute late in what caches keep; while we are away, what they keep beats nothing.
_FRESH = "max-age=60, stale-if-error=86400"


class Get:
    """The ASGI application of one operation that takes parameters; HEAD gets the headers of GET."""

    def __init__(self, operation: Operation, world: World, timing: Series, *, private: bool = False) -> None:
        """Answer *operation* from what *world* returns at the time; where *private*, no shared cache may keep it."""
        self._timing = timing
        self._fresh: Header = (b"cache-control", f"{'private' if private else 'public'}, {_FRESH}".encode())
        self._operation = operation
        self._world = world

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Answer one request. What is wrong with it becomes a problem; mistakes of ours pass through."""
        path = {name: value.removeprefix("/") for name, value in scope["path_params"].items()}
        try:
            request = decode_parameters(scope["query_string"], path, self._operation.takes)
            language = choose_language(header(scope, b"accept-language"), request.language)
            world = self._world()
            tag = self._tag(world, language)
            if tag and _has(scope, tag[1]):
                await send_whole(send, 304, b"", (*answer_headers(language), tag, self._fresh))
                return
            started = time.perf_counter()
            answer = self._operation.answer(world, request, language)
            self._timing.add(time.perf_counter() - started)
            body = _encode(answer)
        except Refused as refused:
            await refuse(scope, send, _or_not_found(refused, path), _spoken(scope))
        except Invalid as invalid:
            await refuse(scope, send, _or_not_found(refusal(invalid), path), _spoken(scope))
        else:
            headers = (*answer_headers(language), tag, self._fresh) if tag else answer_headers(language)
            await send_whole(send, 200, body, headers)

    def _tag(self, world: Versioned, language: Language) -> Header | None:
        """Weak, because a proxy may compress the answer on its way."""
        if not self._operation.cached:
            return None
        return b"etag", f'W/"{world.tag}-{__version__}-{language}"'.encode()


def _spoken(scope: Scope) -> Language | None:
    """The `language` that the query asks for, even where the rest of it cannot be read."""
    found = _LANGUAGE.search(scope["query_string"])
    return Language(found[1].decode()) if found else None


def _has(scope: Scope, tag: bytes) -> bool:
    known = header(scope, b"if-none-match").split(",")
    return any(it.strip().removeprefix("W/") in {tag.decode().removeprefix("W/"), "*"} for it in known)


def _or_not_found(refused: Refused, path: dict[str, str]) -> Refused:
    """A fault in a parameter of the path means that there is no such resource."""
    if any(fault.pointer.removeprefix("/") in path for fault in refused.faults):
        return Refused(ProblemType.NOT_FOUND, *refused.faults)
    return refused
