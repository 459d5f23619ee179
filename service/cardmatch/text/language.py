"""The languages that the service speaks, and which of them a request asks for."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Language(StrEnum):
    """The language of an answer. Chinese is written in simplified characters."""

    EN = "en"
    ES = "es"
    ZH = "zh"


DEFAULT = Language.EN
_RANGES = 32
"""More language ranges than any browser sends; whoever sends more is heard up to here."""

_QUALITY = re.compile(r"q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)


def choose_language(accept_language: str | None, field: Language | None = None) -> Language:
    """The language to answer in: the request's `language` field, else the best of Accept-Language, else English."""
    if field is not None:
        return field
    return negotiated(accept_language) if accept_language else DEFAULT


@lru_cache(maxsize=512)
def negotiated(header: str) -> Language:
    """Lookup of RFC 4647 §3.4: every region and script of a language counts as it (zh-TW as zh, es-419 as es)."""
    wanted: dict[str, float] = {}
    for item in header.split(",", _RANGES)[:_RANGES]:
        tag, _, parameters = item.partition(";")
        quality = _quality(parameters)
        primary = tag.strip().lower().partition("-")[0]
        if primary and quality is not None:
            wanted[primary] = max(quality, wanted.get(primary, 0.0))
    spoken = [language for language in Language if wanted.get(language, 0.0) > 0]
    order = list(wanted)
    best = min(spoken, key=lambda language: (-wanted[language], order.index(language)), default=None)
    if best is not None and wanted[best] >= wanted.get("*", 0.0):
        return best
    unmentioned = (language for language in (DEFAULT, *Language) if language not in wanted)
    return next(unmentioned, best or DEFAULT) if wanted.get("*") else best or DEFAULT


def _quality(parameters: str) -> float | None:
    """The weight of a language range, 1 where none is given, None where it cannot be read."""
    if not parameters.strip():
        return 1.0
    match = _QUALITY.fullmatch(parameters.strip())
    return float(match[1]) if match else None
