"""GET /cards and GET /cards/{id}: the card vocabulary, and all that the catalogue knows of one card."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.pages import CursorText, Limit, Place, page, snapshot_of
from cardmatch.catalogue.names.cards import cards_of_family, resolve_card
from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.card import Card, Ecc, Vendor, has_fp8
from cardmatch.engine.money.ownership import Ownership
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language

CardName = Annotated[
    str,
    Meta(min_length=1, max_length=80, description="A card's id, any name it goes by, or a family.", examples=["h100"]),
]


class CardsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which cards to list; conditions add up."""

    card: Annotated[tuple[CardName, ...], Meta(max_length=20)] = ()
    vendor: Vendor | None = None
    min_memory_gb: Annotated[int, Meta(ge=1, le=4096)] | None = None
    fp8: Annotated[bool, Meta(description="Whether the card multiplies FP8 natively.")] | None = None
    nvlink: Annotated[bool, Meta(description="Whether a link other than PCIe joins the cards.")] | None = None
    mig: Annotated[bool, Meta(description="Whether the card can be partitioned.")] | None = None
    ecc: Ecc | None = None
    limit: Limit = 50
    cursor: CursorText | None = None
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class CardsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Cards by id."""

    cards: tuple[Card, ...]
    total: Annotated[int, Meta(ge=0, le=10**6, description="Cards that match, on all pages.")]
    next_cursor: str | None
    catalogue: CatalogueFacts
    release: str


class CardQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which card to show."""

    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=80,
            description="A card's id or any name that means it alone.",
            examples=["rtx-4090", "H100 NVL"],
        ),
    ]
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class CardAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One card: its figures, where each was read, the offers that hold it, and what owning one costs."""

    card: Card
    sources: Annotated[dict[str, str], Meta(description="The publication behind each source key of the card.")]
    offers: Annotated[int, Meta(ge=0, le=10**6, description="Offers of this card; GET /offers lists them.")]
    ownership: Ownership | None
    catalogue: CatalogueFacts
    release: str


def list_cards(world: World, query: CardsQuery) -> CardsPage:
    """The cards that meet every condition of *query*. Raises Invalid with pointers into it."""
    world = snapshot_of(world, query.catalogue_version, query.cursor)
    named = families(world, query.card, "/card")
    rows = [card for card in world.cards.values() if (named is None or card.id in named) and _meets(card, query)]
    shown, next_cursor = page(world, rows, _place, limit=query.limit, cursor=query.cursor)
    return CardsPage(
        cards=shown,
        total=len(rows),
        next_cursor=next_cursor,
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def show_card(world: World, query: CardQuery) -> CardAnswer:
    """All that the catalogue knows of one card. Raises Invalid at /id where the name is unknown or ambiguous."""
    world = snapshot_of(world, query.catalogue_version, None)
    try:
        card = resolve_card(world, query.id)
    except Invalid as unknown:
        raise unknown.under("/id") from None
    return CardAnswer(
        card=card,
        sources={key: world.card_sources[key] for key in sorted(set(card.sources.values()))},
        offers=len(world.offers_by_card.get(card.id, ())),
        ownership=world.ownership.get(card.id),
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def families(world: World, names: tuple[str, ...], pointer: str) -> frozenset[str] | None:
    """The ids of every card that *names* may mean; None where no name is given. Raises Invalid below *pointer*."""
    if not names:
        return None
    chosen: set[str] = set()
    for position, name in enumerate(names):
        try:
            chosen.update(card.id for card in cards_of_family(world, name))
        except Invalid as unknown:
            raise unknown.under(f"{pointer}/{position}") from None
    return frozenset(chosen)


def _meets(card: Card, query: CardsQuery) -> bool:
    facts = (
        (query.vendor, card.vendor),
        (query.fp8, has_fp8(card)),
        (query.nvlink, card.nvlink is not None),
        (query.mig, card.mig is not None),
        (query.ecc, card.ecc),
    )
    return card.memory_gb >= (query.min_memory_gb or 0) and all(wanted in (None, fact) for wanted, fact in facts)


def _place(card: Card) -> Place:
    return False, 0.0, card.id
