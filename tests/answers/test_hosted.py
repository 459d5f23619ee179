"""An answer that wants models gets them, as far as there are any, and no more than a few."""

from __future__ import annotations

import asyncio

from cardmatch.answers.hosted import MOST_GUESTS, answered
from cardmatch.catalogue.guests import Guest, ModelWanted
from cardmatch.catalogue.world import World, bundled


def _answer(world: World) -> list[str]:
    """Wants twelve models, one after the other; gives those that it got."""
    guests = world.guests or {}
    for number in range(12):
        if f"a/{number}" not in guests:
            raise ModelWanted(f"a/{number}")
    return [id_ for id_, guest in guests.items() if guest is not None]


def test_models_are_fetched_one_after_the_other_up_to_a_bound() -> None:
    """Those beyond it count as unknown, so that one question cannot keep a hub busy."""
    fetched: list[str] = []

    async def fetch(id_: str) -> Guest | None:
        fetched.append(id_)
        return Guest(id=id_, revision="0000000", config={}) if id_ != "a/3" else None

    given = asyncio.run(answered(_answer, bundled(), ModelWanted("a/0"), fetch))
    assert len(fetched) == MOST_GUESTS
    assert given == [id_ for id_ in fetched if id_ != "a/3"]


def test_without_anybody_to_ask_there_are_no_guests() -> None:
    """The answer goes on without them."""
    assert asyncio.run(answered(_answer, bundled(), ModelWanted("a/0"), None)) == []
