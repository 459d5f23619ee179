"""World: everything that an answer may look up, frozen, indexed, and named by the hash of its content."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import defaultdict

import msgspec

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.bundled_models import bundled_models
from cardmatch.catalogue.calibration import Calibration, calibration
from cardmatch.catalogue.feed import Feed
from cardmatch.catalogue.guests import Guest
from cardmatch.catalogue.models import ModelRow
from cardmatch.catalogue.names.models import ModelIndex
from cardmatch.catalogue.names.spelling import key
from cardmatch.catalogue.pipelines import PipelineIndex, bundled_pipelines
from cardmatch.catalogue.shared.state import Sharing
from cardmatch.catalogue.snapshot import Snapshot, decode, encode, version_of
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.money.amounts import Day
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

KEPT = 4


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the catalogue. Nothing in it changes after `build`: answers keep the World that they began with.

    `version` is the SHA-256 of the snapshot's canonical bytes, `as_of` the day of its newest fact. `card_names` maps
    spelling keys to ids, `families` the keys of families and architectures; `unlisted_cards` are keys of cards that
    exist but have no row. Everything that is listed stands in the order of its id. `earlier` are the versions before
    this one that a request may still pin, `shared` says where this one came from. `guests` are what a hub said of
    models that are not in here, None of one that it does not have; it is None where no hub may be asked.
    """

    version: str
    as_of: Day
    cards: dict[str, Card]
    card_titles: dict[str, str]
    card_sources: dict[str, str]
    card_names: dict[str, tuple[str, ...]]
    families: dict[str, tuple[str, ...]]
    unlisted_cards: frozenset[str]
    calibration: Calibration
    models: dict[str, ModelRow]
    model_index: ModelIndex
    dialects: Dialects
    pipelines: PipelineIndex
    offers: dict[str, Offer]
    offers_by_card: dict[str, tuple[Offer, ...]]
    offers_of_unknown_card: tuple[Offer, ...]
    providers: dict[str, Provider]
    feeds: tuple[Feed, ...]
    countries: dict[str, Country]
    country_sources: dict[str, str]
    ownership: dict[str, Ownership]
    ownership_costs: OwnershipCosts
    earlier: tuple[World, ...] = ()
    shared: Sharing = Sharing()
    guests: dict[str, Guest | None] | None = None

    @property
    def tag(self) -> str:
        """A short name for everything that a listing may show: this version, the earlier ones, how they came here."""
        if not self.earlier and self.shared == Sharing():
            return self.version[:16]
        beside = msgspec.json.encode([[world.version for world in self.earlier], self.shared])
        return self.version[:16] + hashlib.sha256(beside).hexdigest()[:8]


def succeed(current: World, new: World, *, keep: int = KEPT) -> World:
    """*new*, to be swapped in for *current*: the last *keep* versions before it stay to be pinned."""
    before = (msgspec.structs.replace(current, earlier=()), *current.earlier)
    others = (world for world in before if world.version != new.version)
    return msgspec.structs.replace(new, earlier=tuple(itertools.islice(others, keep)), guests=current.guests)


def pin(world: World, version: str | None) -> World:
    """The kept World whose version begins with *version*; *world* itself where none is asked for.

    Raises Invalid: `catalogue_gone`, with the versions that are kept.
    """
    if version is None:
        return world
    kept = (world, *world.earlier)
    found = next((each for each in kept if each.version.startswith(version)), None)
    if found is None:
        params: Params = {"value": version, "known": [each.version for each in kept]}
        raise Invalid(Fault(code=FaultCode.CATALOGUE_GONE, pointer="", params=params))
    return found if found.guests is world.guests else msgspec.structs.replace(found, guests=world.guests)


def build(snapshot: Snapshot, version: str) -> World:
    """Index *snapshot*, whose canonical bytes hash to *version*. Models and constants are the release's own."""
    models = bundled_models()
    return World(
        version=version,
        as_of=snapshot.as_of,
        cards={card.id: card for card in snapshot.cards},
        card_titles={card.id: card.name for card in snapshot.cards},
        card_sources=snapshot.card_sources,
        card_names={row.key: row.cards for row in snapshot.card_names},
        families=_families(snapshot.cards),
        unlisted_cards=frozenset(snapshot.unlisted_cards),
        calibration=calibration(),
        models=models.models,
        model_index=models.index,
        dialects=models.dialects,
        pipelines=bundled_pipelines(),
        offers={offer.id: offer for offer in snapshot.offers},
        offers_by_card=_by_card(snapshot.offers),
        offers_of_unknown_card=tuple(offer for offer in snapshot.offers if offer.card is None),
        providers={provider.id: provider for provider in snapshot.providers},
        feeds=snapshot.feeds,
        countries={country.code: country for country in snapshot.countries},
        country_sources=snapshot.country_sources,
        ownership={row.card: row for row in snapshot.ownership},
        ownership_costs=snapshot.ownership_costs,
    )


def load(raw: bytes) -> World:
    """The World of a published snapshot. Raises SnapshotError where *raw* is not one of this release's schema."""
    return build(decode(raw), version_of(raw))


@functools.cache
def bundled() -> World:
    """The World of the data files that ship with this release; read once a process."""
    snapshot = bundled_snapshot()
    return build(snapshot, version_of(encode(snapshot)))


def _by_card(offers: tuple[Offer, ...]) -> dict[str, tuple[Offer, ...]]:
    rows: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.card is not None:
            rows[offer.card].append(offer)
    return {card: tuple(listed) for card, listed in rows.items()}


def _families(cards: tuple[Card, ...]) -> dict[str, tuple[str, ...]]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for card in cards:
        for group in {key(card.family), key(card.architecture)}:
            members[group].append(card.id)
    return {group: tuple(ids) for group, ids in members.items()}
