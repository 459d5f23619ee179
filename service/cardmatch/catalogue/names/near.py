"""Names that come near to one that nobody has."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz, process

_LEAST_SCORE = 60.0


def nearest(name: str, known: Iterable[str], *, limit: int = 5) -> tuple[str, ...]:
    """At most *limit* of the *known* names that look like *name*, likest first."""
    found = process.extract(name.lower(), list(known), scorer=fuzz.ratio, limit=limit, score_cutoff=_LEAST_SCORE)
    return tuple(spelling for spelling, _, _ in found)
