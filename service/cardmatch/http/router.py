"""Puts the door together: operations, pages and probes behind one router, behind one door."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from litestar import Litestar, Request, Response, route
from litestar.enums import HttpMethod
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from cardmatch.answers.hosted import Fetch
from cardmatch.http.asgi import App
from cardmatch.http.board import Collector
from cardmatch.http.cors import Cors
from cardmatch.http.document import document
from cardmatch.http.door import Door, Rules
from cardmatch.http.exposition import figures, metrics
from cardmatch.http.gate import Gate, Limiter
from cardmatch.http.get import Get
from cardmatch.http.health import probes
from cardmatch.http.meter import Meter
from cardmatch.http.operation import Operation, World
from cardmatch.http.pages import pages
from cardmatch.http.patience import Patience
from cardmatch.http.post import Post
from cardmatch.http.problems import MEDIA_TYPE, STATUS, Refused, problem
from cardmatch.http.respond import REFUSED
from cardmatch.settings import Settings, api_keys, cors_origins
from cardmatch.text.language import choose_language
from cardmatch.text.problem import ProblemType

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[Any]]


class Surroundings(msgspec.Struct, kw_only=True):
    """What the application puts around the operations: what is counted, told, limited, fetched, and done all along.

    `told` is what /metrics shows, by default the figures of `meter`; `fetch` gets models that the catalogue lacks.
    """

    meter: Meter = msgspec.field(default_factory=Meter)
    told: Collector | None = None
    limiter: Limiter | None = None
    fetch: Fetch | None = None
    lifespan: Sequence[Lifespan] = ()


def build(
    operations: Sequence[Operation], world: World, settings: Settings, around: Surroundings | None = None
) -> Door:
    """The ASGI application that serves *operations*, each request from what *world* returns for it."""
    around = around or Surroundings()
    gate = Gate(keys=api_keys(settings), limiter=around.limiter, trusted_proxies=settings.trusted_proxies)
    served = [(operation, _app(operation, world, settings, around)) for operation in operations]
    handlers = [*(_handler(operation, app) for operation, app in served), *probes(world), *_pages(operations)]
    router = Litestar(
        [*handlers, *([metrics(around.told or figures(around.meter))] if settings.metrics else [])],
        exception_handlers={HTTPException: _on_http, Exception: _on_mistake},
        lifespan=list(around.lifespan),
        openapi_config=None,
        logging_config=None,
    )
    direct = {operation.path: app for operation, app in served if operation.method == "POST"}
    rules = Rules(
        log_slower_than_seconds=settings.log_slower_than_seconds,
        most_in_flight=most_in_flight(settings.backpressure),
        gate=gate,
        cors=_cors(settings),
    )
    routes = {_template(operation): operation.path for operation in operations}
    return Door(router, direct, routes, rules, around.meter)


def most_in_flight(connections: int) -> int:
    """How many requests a worker serves at a time that holds so many *connections*; some are left to say no over."""
    return max(connections * 9 // 10, 1)


def _cors(settings: Settings) -> Cors | None:
    origins = cors_origins(settings)
    return Cors(origins) if origins else None


def _app(operation: Operation, world: World, settings: Settings, around: Surroundings) -> App:
    timing = around.meter.answering(operation.name)
    if operation.method == "POST":
        return Post(operation, world, Patience(settings.body_read_timeout_seconds), timing, around.fetch)
    return Get(operation, world, timing, private=bool(api_keys(settings).entries))


def _template(operation: Operation) -> str:
    """The path for the router. A parameter that ends it takes the rest: ids of models have slashes in them."""
    typed = re.sub(r"\{(\w+)\}$", r"{\1:path}", operation.path)
    return re.sub(r"\{(\w+)\}", r"{\1:str}", typed)


def _handler(operation: Operation, app: App) -> HTTPRouteHandler:
    methods = [HttpMethod.POST] if operation.method == "POST" else [HttpMethod.GET, HttpMethod.HEAD]

    @route(_template(operation), http_method=methods, status_code=200)
    async def handler() -> ASGIApp:
        return app

    return handler


def _pages(operations: Sequence[Operation]) -> list[HTTPRouteHandler]:
    """The document and what is written about it, when it is first asked for, beside the loop: it takes a while."""

    @functools.cache
    def written() -> bytes:
        return msgspec.json.encode(document(operations))

    @route("/openapi.json", http_method=["GET", "HEAD"], media_type="application/json")
    async def openapi() -> bytes:
        return await asyncio.to_thread(written)

    return [openapi, *pages(lambda: document(operations))]


def _on_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """What the router itself refuses: an address or a method that there is not, a header that it cannot read."""
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == STATUS[ProblemType.METHOD_NOT_ALLOWED]:
        refused = Refused(ProblemType.METHOD_NOT_ALLOWED, allowed=headers.get("allow", "").split(", "))
    else:
        missing = error.status_code == STATUS[ProblemType.NOT_FOUND]
        refused = Refused(ProblemType.NOT_FOUND if missing else ProblemType.MALFORMED_REQUEST)
    language = choose_language(request.headers.get("accept-language"))
    headers |= {"vary": "accept-language", "content-language": language}
    request.scope[REFUSED] = refused  # type: ignore[literal-required]
    body = msgspec.json.encode(problem(refused, language))
    return Response(body, status_code=STATUS[refused.kind], media_type=MEDIA_TYPE.decode(), headers=headers)


def _on_mistake(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The door logs what nobody expected and answers it, for operations and pages alike."""
    raise error
