"""What stands around every page: the head, where to go from here, and the headers that keep all of it at home."""

from __future__ import annotations

from html import escape

from litestar import Response

from cardmatch import __version__
from cardmatch.http.documentation.shelf import titles

# Swagger UI sets style attributes and draws its icons from data URIs; nothing may come from another host.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-cache",
}
_FIXED = {"/docs": "Overview", "/docs/endpoints": "Endpoints", "/docs/try": "Try it", "/docs/problems": "Problems"}


def asset(name: str) -> str:
    """Where a file of `assets/` is served; the release in it lets browsers keep it for ever."""
    return f"/docs/assets/{__version__}/{name}"


def framed(title: str, body: str, *, headed: bool = False, sheets: tuple[str, ...] = ()) -> Response[str]:
    """A page of HTML; *headed* where its heading is already in *body*."""
    links = "".join(f'<link rel="stylesheet" href="{asset(sheet)}">' for sheet in (*sheets, "page.css"))
    # Swagger UI brings looks of its own.
    kind = "" if sheets else ' class="text"'
    heading = "" if headed else f"<h1>{escape(title)}</h1>"
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><link rel="icon" href="data:,">{links}</head>
<body><nav>{_ways()}</nav><main{kind}>{heading}
{body}
</main></body></html>
"""
    return Response(text, media_type="text/html", headers=HEADERS)


def _ways() -> str:
    return _listed("Cardmatch", _FIXED) + "".join(
        _listed(section, {f"/docs/{page}": title for page, title in pages.items()})
        for section, pages in titles().items()
    )


def _listed(section: str, ways: dict[str, str]) -> str:
    rows = "".join(f'<li><a href="{url}">{escape(title)}</a></li>' for url, title in ways.items())
    return f"<p>{escape(section)}</p><ul>{rows}</ul>"
