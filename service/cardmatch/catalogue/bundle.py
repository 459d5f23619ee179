"""The data files that ship inside the package: what the service knows before anybody publishes anything."""

from __future__ import annotations

import importlib.resources
from typing import Any

import msgspec

from cardmatch.catalogue.feed import FeedOutcome, by_feed, feed
from cardmatch.catalogue.snapshot import CardName, NameKey, Snapshot
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.money.amounts import Day
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.provider import Provider


class _Cards(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: Day
    sources: dict[str, str]
    rules: dict[str, str]
    cards: tuple[Card, ...]


class _CardNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: Day
    sources: tuple[str, ...]
    not_in_catalogue: tuple[NameKey, ...]
    names: tuple[CardName, ...]


class _Providers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: Day
    providers: tuple[Provider, ...]


class _Countries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: Day
    as_of_note: str
    sources: dict[str, tuple[str, ...]]
    countries: tuple[Country, ...]


class _Ownership(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    as_of: Day
    costs: OwnershipCosts
    cards: tuple[Ownership, ...]


def bundled_snapshot() -> Snapshot:
    """The snapshot of the bundled data files, each row checked against its type."""
    cards: _Cards = read("cards.json", _Cards)
    names: _CardNames = read("card_names.json", _CardNames)
    offers: list[Offer] = read_lines("offers.jsonl", Offer)
    providers: _Providers = read("providers.json", _Providers)
    countries: _Countries = read("countries.json", _Countries)
    ownership: _Ownership = read("ownership.json", _Ownership)
    dated = (cards, names, providers, countries, ownership)
    return Snapshot(
        as_of=max(*(file.as_of for file in dated), *(offer.as_of for offer in offers)),
        cards=cards.cards,
        card_sources=cards.sources,
        card_names=names.names,
        unlisted_cards=names.not_in_catalogue,
        offers=tuple(offers),
        providers=providers.providers,
        feeds=tuple(
            feed(key, rows, importer="bundled", outcome=FeedOutcome.BUNDLED) for key, rows in by_feed(offers).items()
        ),
        countries=countries.countries,
        country_sources={group: "; ".join(texts) for group, texts in countries.sources.items()},
        ownership=ownership.cards,
        ownership_costs=ownership.costs,
    )


def read(name: str, shape: Any) -> Any:
    """The bundled data file *name*, decoded as *shape*. Raises msgspec.DecodeError where it does not fit."""
    return msgspec.json.decode(read_bytes(name), type=shape)


def read_lines(name: str, shape: Any) -> list[Any]:
    """The bundled data file *name*, one *shape* a line. Raises msgspec.DecodeError where a line does not fit."""
    return msgspec.json.Decoder(shape).decode_lines(read_bytes(name))


def read_bytes(name: str) -> bytes:
    """The content of the bundled data file *name*."""
    return (importlib.resources.files("cardmatch.catalogue") / "data" / name).read_bytes()
