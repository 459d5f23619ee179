"""World: everything that an answer may look up, frozen, indexed, and named by the hash of its content."""

from __future__ import annotations

import functools
from collections import defaultdict

import msgspec

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.calibration import Calibration, calibration
from cardmatch.catalogue.names.spelling import key
from cardmatch.catalogue.snapshot import Snapshot, decode, encode, version_of
from cardmatch.engine.hardware.card import Card


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the catalogue. Nothing in it changes after `build`: answers keep the World that they began with.

    `version` is the SHA-256 of the snapshot's canonical bytes, `as_of` the day of its newest fact. `card_names` maps
    spelling keys to ids, `families` the keys of families and architectures; `unlisted_cards` are keys of cards that
    exist but have no row.
    """

    version: str
    as_of: str
    cards: dict[str, Card]
    card_sources: dict[str, str]
    card_names: dict[str, tuple[str, ...]]
    families: dict[str, tuple[str, ...]]
    unlisted_cards: frozenset[str]
    calibration: Calibration


def build(snapshot: Snapshot, version: str) -> World:
    """Index *snapshot*, whose canonical bytes hash to *version*."""
    return World(
        version=version,
        as_of=snapshot.as_of,
        cards={card.id: card for card in snapshot.cards},
        card_sources=snapshot.card_sources,
        card_names={row.key: row.cards for row in snapshot.card_names},
        families=_families(snapshot.cards),
        unlisted_cards=frozenset(snapshot.unlisted_cards),
        calibration=calibration(),
    )


def load(raw: bytes) -> World:
    """The World of a published snapshot. Raises SnapshotError where *raw* is not one of this release's schema."""
    return build(decode(raw), version_of(raw))


@functools.cache
def bundled() -> World:
    """The World of the data files that ship with this release; read once a process."""
    snapshot = bundled_snapshot()
    return build(snapshot, version_of(encode(snapshot)))


def _families(cards: tuple[Card, ...]) -> dict[str, tuple[str, ...]]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for card in cards:
        for group in {key(card.family), key(card.architecture)}:
            members[group].append(card.id)
    return {group: tuple(ids) for group, ids in members.items()}
