"""card_names.json: what clouds, drivers, schedulers and people call the cards of cards.json."""

from __future__ import annotations

import pathlib
from typing import Any

from cardmatch.catalogue.names.spelling import key
from tools.build_catalogue.files import one_row_a_line, read_json

# Names that the transcribed list lacks: Google's own for the TPU v5e.
ALSO = {"TPU v5litepod": "tpu-v5e", "TPU v5 lite": "tpu-v5e"}


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """`card_names.json`: every spelling reduced to its key, with the cards that it can mean.

    Raises ValueError where two spellings of one key mean different cards.
    """
    source = read_json(shared / "card_map.json")
    meant: dict[str, tuple[str, ...]] = {}
    for part in ("names", "instance_types"):
        for spelling, entry in source[part].items():
            cards = candidates(entry)
            if meant.setdefault(key(spelling), cards) != cards:
                raise ValueError(f"{spelling!r} means {cards}, but its key already means {meant[key(spelling)]}")
    for spelling, card in ALSO.items():
        meant.setdefault(key(spelling), (card,))
    for spelling, cards in forms(read_json(shared / "cards.json")["cards"]).items():
        meant.setdefault(spelling, cards)
    head = {
        "as_of": read_json(shared / "cards.json")["generated"],
        "sources": source["_sources"],
        "not_in_catalogue": sorted(key(name) for name in source["not_in_catalogue"]),
    }
    rows = ({"key": name, "cards": cards} for name, cards in sorted(meant.items()))
    return {"card_names.json": one_row_a_line(head, "names", rows)}


def forms(cards: list[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    """A card's id without its memory, such as `a100-pcie`, means every size of that form."""
    meant: dict[str, tuple[str, ...]] = {}
    for card in cards:
        form, dash, size = card["id"].rpartition("-")
        if dash and size == str(card["memory_gb"]) and "-" in form:
            meant[key(form)] = (*meant.get(key(form), ()), card["id"])
    return meant


def candidates(entry: dict[str, Any]) -> tuple[str, ...]:
    """The cards that a name can mean, as the source lists them."""
    return (entry["card"],) if "card" in entry else tuple(entry["candidates"])
