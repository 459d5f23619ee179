"""GET /catalogue: which snapshot answers, what is in it, how fresh it is, and which versions are kept."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.pages import snapshot_of
from cardmatch.catalogue.feed import Feed
from cardmatch.catalogue.shared.state import Sharing
from cardmatch.catalogue.snapshot import SCHEMA
from cardmatch.catalogue.world import World
from cardmatch.engine.money.amounts import Day
from cardmatch.text.language import Language

Rows = Annotated[int, Meta(ge=0, le=10**6)]


class CatalogueQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which snapshot to describe: the current one, unless a version is pinned."""

    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of each kind the snapshot holds."""

    cards: Rows
    card_names: Rows
    models: Rows
    offers: Rows
    priced_offers: Annotated[int, Meta(ge=0, le=10**6, description="Offers with a price, on demand or spot.")]
    providers: Rows
    countries: Rows
    owned_cards: Annotated[int, Meta(ge=0, le=10**6, description="Cards with a cost of owning them.")]


class CatalogueAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot: its version is the SHA-256 of its content, so equal versions mean equal content."""

    version: str
    as_of: Day
    schema: Annotated[int, Meta(ge=1, le=10**6, description="Layout of the snapshot's rows.")]
    counts: Counts
    kept: Annotated[tuple[CatalogueFacts, ...], Meta(description="Versions that a request may pin, newest first.")]
    shared: Annotated[Sharing, Meta(description="Where the current snapshot came from, and how Redis does.")]
    feeds: Annotated[tuple[Feed, ...], Meta(description="Freshness of each provider's offers.")]
    country_sources: Annotated[dict[str, str], Meta(description="Where the groups of countries were read.")]
    release: str


def show_catalogue(world: World, query: CatalogueQuery) -> CatalogueAnswer:
    """Describe the snapshot. Raises Invalid: `catalogue_gone` at /catalogue_version."""
    shown = snapshot_of(world, query.catalogue_version, None)
    return CatalogueAnswer(
        version=shown.version,
        as_of=shown.as_of,
        schema=SCHEMA,
        counts=counts(shown),
        kept=tuple(catalogue_facts(each) for each in (world, *world.earlier)),
        shared=world.shared,
        feeds=shown.feeds,
        country_sources=shown.country_sources,
        release=__version__,
    )


def counts(world: World) -> Counts:
    """The number of rows of each kind in *world*."""
    return Counts(
        cards=len(world.cards),
        card_names=len(world.card_names),
        models=len(world.models),
        offers=len(world.offers),
        priced_offers=sum(feed.priced_offers for feed in world.feeds),
        providers=len(world.providers),
        countries=len(world.countries),
        owned_cards=len(world.ownership),
    )
