"""What became of each card in a search, and which of two fates is nearer to an option."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.advice.candidates import Form
from cardmatch.engine.advice.choice import Broken, Choice
from cardmatch.engine.advice.trying import Outcome, Tried


class Fate(NamedTuple):
    """The best that became of a card: it was refused, has no offer, or was tried; `bound` is dollars an hour.

    `total` is the least that the card may finish a job for, in dollars.
    """

    refused: str | None = None
    best: Choice | None = None
    tried: Tried | None = None
    broken: Broken | None = None
    bound: float | None = None
    total: float | None = None


def remember(fates: dict[str, Fate], form: Form, fate: Fate) -> None:
    """Keep what came nearest: an option, else a broken condition, else too slow, tight, too large."""
    known = fates.get(form.card.id)
    nearest = fate if known is None or nearness(fate) < nearness(known) else known
    said = fate.best.total_usd if fate.best is not None else None, known.total if known is not None else None
    fates[form.card.id] = nearest._replace(total=min([usd for usd in said if usd is not None], default=None))


TOO_SLOW = 3
"""What `nearness` begins with where every form that holds the model is too slow; from there on it grows."""


def nearness(fate: Fate) -> tuple[int, float]:
    """How near a card came to being an option: less is nearer."""
    if fate.best is not None:
        return 0, fate.best.axes.objective
    if fate.broken is not None:
        return 1, fate.broken.value
    if fate.bound is not None:
        return 2, fate.bound
    if fate.tried is None:
        return 9, 0.0
    order = (Outcome.TOO_SLOW, Outcome.TIGHT, Outcome.DOES_NOT_FIT)
    return TOO_SLOW + order.index(fate.tried.outcome), float(fate.tried.missing_bytes)
