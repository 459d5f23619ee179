"""A snapshot: the catalogue's rows in one canonical run of bytes, so that its SHA-256 names its content.

The bytes are lines. The first is the header: schema version, day, and how many rows of which section follow; every
other line is a JSON array of at most `ROWS_A_LINE` rows of one section. Lines are decoded one by one, each in well
under a millisecond, so that a thread decoding a large snapshot never holds up the event loop.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.catalogue.feed import Feed
from cardmatch.engine.hardware.card import Card, CardId
from cardmatch.engine.money.amounts import Day
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.provider import Provider

SCHEMA = 1
ROWS_A_LINE = 64

NameKey = Annotated[str, Meta(min_length=1, max_length=120, pattern=r"^[a-z0-9]+$(?!\n)")]


class SnapshotError(ValueError):
    """The bytes are not a snapshot of this release's schema."""


class CardName(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A spelling of a card's name, reduced to its key, and the cards that it can mean."""

    key: NameKey
    cards: Annotated[tuple[CardId, ...], Meta(min_length=1, max_length=16)]


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that rows cite, and the publication behind it."""

    key: Annotated[str, Meta(min_length=1, max_length=64)]
    text: Annotated[str, Meta(min_length=1, max_length=2000)]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a refresh may change; each section sorted, so that equal content has equal bytes."""

    as_of: Day
    cards: tuple[Card, ...]
    card_sources: dict[str, str]
    card_names: tuple[CardName, ...]
    unlisted_cards: tuple[NameKey, ...]
    offers: tuple[Offer, ...]
    providers: tuple[Provider, ...]
    feeds: tuple[Feed, ...]
    countries: tuple[Country, ...]
    country_sources: dict[str, str]
    ownership: tuple[Ownership, ...]
    ownership_costs: OwnershipCosts


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    as_of: Day
    rows: dict[str, Annotated[int, Meta(ge=0, le=10**6)]]


class _SchemaOnly(msgspec.Struct, frozen=True):
    schema: int


# Lists of rows, maps of sources, and the one section that is a single row.
_SECTIONS: dict[str, Any] = {
    "cards": Card,
    "card_sources": Source,
    "card_names": CardName,
    "unlisted_cards": NameKey,
    "offers": Offer,
    "providers": Provider,
    "feeds": Feed,
    "countries": Country,
    "country_sources": Source,
    "ownership": Ownership,
    "ownership_costs": OwnershipCosts,
}
_DECODERS = {name: msgspec.json.Decoder(types.GenericAlias(list, (row,))) for name, row in _SECTIONS.items()}


def version_of(raw: bytes) -> str:
    """The name of a snapshot: the SHA-256 of its bytes, in hex."""
    return hashlib.sha256(raw).hexdigest()


def encode(snapshot: Snapshot) -> bytes:
    """The canonical bytes of *snapshot*."""
    sections = {name: _rows(snapshot, name) for name in _SECTIONS}
    header = _Header(SCHEMA, snapshot.as_of, {name: len(rows) for name, rows in sections.items()})
    lines = [msgspec.json.encode(header, order="deterministic")]
    for rows in sections.values():
        blocks = (rows[start : start + ROWS_A_LINE] for start in range(0, len(rows), ROWS_A_LINE))
        lines += [msgspec.json.encode(block, order="deterministic") for block in blocks]
    return b"\n".join(lines)


def decode(raw: bytes) -> Snapshot:
    """The snapshot in *raw*, every row checked against its type. Raises SnapshotError."""
    header_line, *lines = raw.split(b"\n")
    try:
        header = _header(header_line)
        remaining = iter(lines)
        sections = {name: _section(name, header.rows.get(name, 0), remaining) for name in _SECTIONS}
    except msgspec.DecodeError as problem:
        raise SnapshotError(f"not a snapshot: {problem}") from problem
    if next(remaining, None) is not None:
        raise SnapshotError("more lines than the header announces")
    return Snapshot(as_of=header.as_of, **{name: _field(name, rows) for name, rows in sections.items()})


def _header(line: bytes) -> _Header:
    schema = msgspec.json.decode(line, type=_SchemaOnly).schema
    if schema != SCHEMA:
        raise SnapshotError(f"schema {schema}, this release reads {SCHEMA}")
    return msgspec.json.decode(line, type=_Header)


def _section(name: str, count: int, lines: Iterator[bytes]) -> list[Any]:
    rows: list[Any] = []
    while len(rows) < count:
        line = next(lines, None)
        if line is None:
            raise SnapshotError(f"{name}: {count} rows announced, {len(rows)} found")
        more = _DECODERS[name].decode(line)
        if not more:
            raise SnapshotError(f"{name}: a line without rows")
        rows += more
    if len(rows) != count:
        raise SnapshotError(f"{name}: {count} rows announced, {len(rows)} found")
    return rows


def _rows(snapshot: Snapshot, name: str) -> list[Any]:
    """A field of the snapshot as the rows of its section."""
    field = getattr(snapshot, name)
    if isinstance(field, dict):
        return [Source(key=key, text=text) for key, text in sorted(field.items())]
    return list(field) if isinstance(field, tuple) else [field]


def _field(name: str, rows: list[Any]) -> Any:
    """The rows of a section as the field of the snapshot."""
    if _SECTIONS[name] is Source:
        return {source.key: source.text for source in rows}
    if _SECTIONS[name] is not OwnershipCosts:
        return tuple(rows)
    if len(rows) != 1:
        raise SnapshotError(f"{name}: one row expected, {len(rows)} found")
    return rows[0]
