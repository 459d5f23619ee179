"""Fixed pages: documentation, the document to try out with its assets, one page for each kind of problem; offline."""

from __future__ import annotations

import asyncio
import functools
import gzip
from collections.abc import Callable
from importlib import resources
from typing import Any

from litestar import Request, Response, route
from litestar.enums import HttpMethod
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from cardmatch import __version__
from cardmatch.http.documentation import endpoints, shelf
from cardmatch.http.documentation.frame import asset as asset_url
from cardmatch.http.documentation.frame import framed
from cardmatch.http.documentation.markdown import rendered
from cardmatch.http.documentation.problems import PROBLEM_PAGES

ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "start.js": "text/javascript",
    "page.css": "text/css",
}
_FOREVER = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
_METHODS = [HttpMethod.GET, HttpMethod.HEAD]
_START = {
    "name": "cardmatch",
    "release": __version__,
    "docs": "/docs",
    "openapi": "/openapi.json",
    "questions": ["/estimate-vram", "/recommend", "/cost"],
}


@route("/", http_method=_METHODS)
async def start(request: Request[Any, Any, Any]) -> Response[Any]:
    """Where everything is, for programs; people with a browser are led to the documentation."""
    if "text/html" in request.headers.get("accept", ""):
        return Response("", status_code=303, headers={"location": "/docs", "vary": "accept"}, media_type="text/html")
    return Response(_START, headers={"vary": "accept"})


@route("/docs/try", http_method=_METHODS)
async def trying() -> Response[str]:
    """Swagger UI over /openapi.json."""
    body = f"""<p><a href="/openapi.json">openapi.json</a></p>
<div id="document"></div>
<script src="{asset_url("swagger-ui-bundle.js")}"></script>
<script src="{asset_url("start.js")}" data-document="/openapi.json"></script>"""
    return framed("Try it", body, sheets=("swagger-ui.css",))


@route("/docs/assets/{release:str}/{name:str}", http_method=_METHODS)
async def asset(name: FromPath[str], release: FromPath[str], request: Request[Any, Any, Any]) -> Response[bytes]:
    """A file of `assets/`; the release in its path lets browsers keep it for ever."""
    if name not in ASSETS or release != __version__:
        raise NotFoundException
    file = resources.files("cardmatch.http") / "assets"
    packed = file / f"{name}.gz"
    if not packed.is_file():
        return Response((file / name).read_bytes(), media_type=ASSETS[name], headers=_FOREVER)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed.read_bytes(), media_type=ASSETS[name], headers={**_FOREVER, "content-encoding": "gzip"})
    return Response(gzip.decompress(packed.read_bytes()), media_type=ASSETS[name], headers=_FOREVER)


@route("/docs/{page:str}", http_method=_METHODS)
async def written(page: FromPath[str]) -> Response[str]:
    """A page of docs/."""
    text = await asyncio.to_thread(shelf.text, page)
    if text is None or page == shelf.INDEX:
        raise NotFoundException
    return framed(shelf.title(text), await asyncio.to_thread(_rendered, page), headed=True)


@functools.cache
def _rendered(page: str) -> str:
    return rendered(shelf.text(page) or "")


def pages(document: Callable[[], dict[str, Any]]) -> list[HTTPRouteHandler]:
    """All of them; those on operations are made from the OpenAPI *document*, once, when the first is asked for."""

    @functools.cache
    def made() -> tuple[str, dict[str, tuple[str, str]]]:
        whole = document()
        listed = {each.said["operationId"]: each for each in endpoints.endpoints(whole)}
        return endpoints.table(whole), {
            name: (f"{each.method} {each.path}", endpoints.page(whole, each)) for name, each in listed.items()
        }

    @route("/docs", http_method=_METHODS)
    async def overview() -> Response[str]:
        table, _ = await asyncio.to_thread(made)
        text = await asyncio.to_thread(_rendered, shelf.INDEX)
        return framed("Cardmatch", f"{text}<h2>Endpoints</h2>{table}", headed=True)

    @route("/docs/endpoints", http_method=_METHODS)
    async def endpoint_index() -> Response[str]:
        table, _ = await asyncio.to_thread(made)
        return framed("Endpoints", table)

    @route("/docs/endpoints/{name:str}", http_method=_METHODS)
    async def endpoint(name: FromPath[str]) -> Response[str]:
        _, each = await asyncio.to_thread(made)
        if name not in each:
            raise NotFoundException
        return framed(*each[name])

    return [start, trying, asset, written, overview, endpoint_index, endpoint, *PROBLEM_PAGES]
