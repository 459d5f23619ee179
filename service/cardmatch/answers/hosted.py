"""Answering with models that the catalogue does not hold: what an answer wants is fetched, and it is asked again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from cardmatch.catalogue.guests import Guest, ModelWanted
from cardmatch.catalogue.world import World

T = TypeVar("T")
Fetch = Callable[[str], Awaitable[Guest | None]]
MOST_GUESTS = 8
"""Models that one request may have fetched; the rest are unknown."""


async def answered(answer: Callable[[World], T], world: World, wanted: ModelWanted, fetch: Fetch | None) -> T:
    """What *answer* gives once it has all models that it wants, of which *wanted* is the first. Raises Invalid."""
    guests: dict[str, Guest | None] = {}
    while True:
        asks = fetch is not None and len(guests) < MOST_GUESTS
        guests[wanted.id] = await fetch(wanted.id) if asks and fetch is not None else None
        try:
            return answer(msgspec.structs.replace(world, guests=guests))
        except ModelWanted as another:
            wanted = another
