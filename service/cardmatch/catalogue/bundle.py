"""The data files that ship inside the package: what the service knows before anybody publishes anything."""

from __future__ import annotations

import importlib.resources
from typing import Any

import msgspec

from cardmatch.catalogue.snapshot import CardName, NameKey, Snapshot
from cardmatch.engine.hardware.card import Card


class _Cards(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: str
    sources: dict[str, str]
    rules: dict[str, str]
    cards: tuple[Card, ...]


class _CardNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: str
    sources: tuple[str, ...]
    not_in_catalogue: tuple[NameKey, ...]
    names: tuple[CardName, ...]


def bundled_snapshot() -> Snapshot:
    """The snapshot of the bundled data files, each row checked against its type."""
    cards: _Cards = read("cards.json", _Cards)
    names: _CardNames = read("card_names.json", _CardNames)
    return Snapshot(
        as_of=max(cards.as_of, names.as_of),
        cards=cards.cards,
        card_sources=cards.sources,
        card_names=names.names,
        unlisted_cards=names.not_in_catalogue,
    )


def read(name: str, shape: Any) -> Any:
    """The bundled data file *name*, decoded as *shape*. Raises msgspec.DecodeError where it does not fit."""
    path = importlib.resources.files("cardmatch.catalogue") / "data" / name
    return msgspec.json.decode(path.read_bytes(), type=shape)
