"""The pages of docs/: where they lie, their texts and titles, and the order in which index.md names them."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

INDEX = "index"
_NAMED = re.compile(r"(?m)^(?:## (?P<section>.+)|- \[[^\]]+\]\((?P<page>[a-z-]+)\.md\).*)$")


def folder() -> Traversable:
    """Where the pages lie: in the package as it is installed, beside `service/` in a checkout."""
    packed = resources.files("cardmatch.http.documentation") / "text"
    return packed if packed.is_dir() else Path(__file__).resolve().parents[4] / "docs"


def text(page: str) -> str | None:
    """The Markdown of *page*, or None where there is no such page."""
    file = folder() / f"{page}.md"
    return file.read_text(encoding="utf-8") if re.fullmatch(r"[a-z-]+", page) and file.is_file() else None


@cache
def titles() -> dict[str, dict[str, str]]:
    """For each section of index.md, the titles of its pages."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for match in _NAMED.finditer(text(INDEX) or ""):
        section = match["section"] or section
        page = match["page"]
        if page and (written := text(page)):
            found.setdefault(section, {})[page] = title(written)
    return found


def title(written: str) -> str:
    """The first heading of a page."""
    return written.partition("\n")[0].removeprefix("# ").strip()
