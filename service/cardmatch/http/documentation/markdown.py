"""Markdown as HTML for the pages of docs/: headings can be linked to, links lead to where the pages are served."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_PAGE = re.compile(r"([a-z-]+)\.md(#.*)?")
# What stands outside docs/ and is served all the same.
_SERVED = {"../openapi/openapi.json": "/openapi.json"}


def rendered(text: str) -> str:
    """*text* as HTML. HTML in it is shown, not obeyed."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only who reads the pages pays for it

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[place + 1].content))
        elif token.children:
            token.children = _linked(token.children)
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html


def anchor(heading: str) -> str:
    """What GitHub makes of a heading, so that links hold in both places."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def address(target: str) -> str | None:
    """Where *target* of a link is served; None for files that are not."""
    if match := _PAGE.fullmatch(target):
        page = "" if match[1] == "index" else f"/{match[1]}"
        return f"/docs{page}{match[2] or ''}"
    if target in _SERVED:
        return _SERVED[target]
    return target if target.startswith(("#", "/", "https://", "http://")) else None


def _linked(tokens: list[Token]) -> list[Token]:
    """*tokens* with their links led to what is served; of a link to anything else only its words stay."""
    kept, dropped = [], 0
    for token in tokens:
        if token.type == "link_open":
            where = address(str(token.attrGet("href")))
            dropped += where is None
            if where is None:
                continue
            token.attrSet("href", where)
        elif token.type == "link_close" and dropped:
            dropped -= 1
            continue
        kept.append(token)
    return kept
