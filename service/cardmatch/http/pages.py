"""Fixed pages: the interactive documentation with its assets, and one page for each kind of problem. All offline."""

from __future__ import annotations

import gzip
from html import escape
from importlib import resources
from typing import Any

from litestar import Request, Response, route
from litestar.enums import HttpMethod
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from cardmatch import __version__
from cardmatch.http.problems import STATUS, TYPE_PREFIX
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType
from cardmatch.text.sentences import forms_of, sentences

ASSETS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "start.js": "text/javascript",
    "page.css": "text/css",
}
# Swagger UI sets style attributes and draws its icons from data URIs; nothing may come from another host.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-cache",
}
_FOREVER = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
_HTML = "text/html"
_METHODS = [HttpMethod.GET, HttpMethod.HEAD]


@route("/docs", http_method=_METHODS)
async def documentation() -> Response[str]:
    """Swagger UI over /openapi.json."""
    body = f"""<p><a href="{TYPE_PREFIX.rstrip("/")}">Problems</a> · <a href="/openapi.json">openapi.json</a></p>
<div id="document"></div>
<script src="{_asset("swagger-ui-bundle.js")}"></script>
<script src="{_asset("start.js")}" data-document="/openapi.json"></script>"""
    return _page("Cardmatch", body, sheet="swagger-ui.css")


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


@route("/docs/problems", http_method=_METHODS)
async def problem_index() -> Response[str]:
    """Every kind of problem, with its status."""
    rows = "".join(
        f'<tr><td>{STATUS[kind]}</td><td><a href="{TYPE_PREFIX}{kind}">{kind}</a></td>'
        f"<td>{escape(_sentence(Language.EN, 'problems', kind))}</td></tr>"
        for kind in sorted(ProblemType, key=lambda kind: (STATUS[kind], kind))
    )
    return _page("Problems", f"<table><tr><th>Status</th><th>Type</th><th></th></tr>{rows}</table>")


@route("/docs/problems/{kind:str}", http_method=_METHODS)
async def problem_page(kind: FromPath[str]) -> Response[str]:
    """What the `type` of a problem leads to: its words in every language, and the faults that it may list."""
    if kind not in list(ProblemType):
        raise NotFoundException
    status = STATUS[ProblemType(kind)]
    body = f"<p>Status {status}</p>"
    for language in Language:
        words = f"{_sentence(language, 'problems', kind)} {_sentence(language, 'details', kind)}"
        body += f'<p lang="{language}">{escape(words)}</p>'
    if kind in {ProblemType.INVALID_REQUEST, ProblemType.BAD_PARAMETER}:
        faults = "".join(
            f"<tr><td><code>{code}</code></td><td>{escape(_sentence(Language.EN, 'faults', code))}</td></tr>"
            for code in sorted(sentences(Language.EN).faults)
        )
        body += f"<h2>What can be wrong</h2><table>{faults}</table>"
    return _page(kind, body)


PAGES: list[HTTPRouteHandler] = [documentation, asset, problem_index, problem_page]


def _asset(name: str) -> str:
    return f"/docs/assets/{__version__}/{name}"


def _sentence(language: Language, family: str, code: str) -> str:
    return " / ".join(dict.fromkeys(forms_of(getattr(sentences(language), family)[code])))


def _page(title: str, body: str, sheet: str = "page.css") -> Response[str]:
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="{_asset(sheet)}"></head>
<body><h1>{escape(title)}</h1>
{body}
</body></html>
"""
    return Response(text, media_type=_HTML, headers=_HEADERS)
