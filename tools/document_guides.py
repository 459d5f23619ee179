"""Fill in the pages of docs/ that ask: after each request of such a page, what it is answered now."""

from __future__ import annotations

import datetime as dt
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.answers.estimate import EstimateRequest, estimate_vram
from cardmatch.answers.recommend import RecommendRequest, recommendation
from cardmatch.catalogue.world import bundled
from cardmatch.text.language import Language

_DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = _DOCS / "guides-versus-figures.md"
PAGES = (PAGE, _DOCS / "quick-start.md")
BLOCK = re.compile(r"(`POST (/[a-z-]+)`\n\n```json\n(.*?)\n```\n\n)((?:>[^\n]*\n)+)", re.DOTALL)
_ANSWERS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "/estimate-vram": (EstimateRequest, estimate_vram),
    "/recommend": (RecommendRequest, recommendation),
    "/cost": (CostRequest, cost),
}
_WIDTH = 116


def filled(page: str) -> str:
    """*page* with each answer renewed."""
    return BLOCK.sub(lambda match: match[1] + answered(match[2], match[3]), page)


def answered(path: str, body: str) -> str:
    """What *body* posted to *path* is answered: the summary, and of a recommendation the counsel, as a quotation."""
    kind, answer = _ANSWERS[path]
    request = msgspec.convert(json.loads(body), kind)
    found = answer(bundled(), request, Language.EN, dt.date(2026, 11, 30))
    said = [found.summary, *[each.message for each in getattr(found, "advice", ())]]
    return ">\n".join("".join(f"> {line}\n" for line in textwrap.wrap(each, _WIDTH)) for each in said)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
