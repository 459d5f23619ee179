"""An operator's own prices: JSON, JSON lines, CSV or TOML, with the fields of an offer and any name for the card."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason
from cardmatch.catalogue.importers.files import Unreadable, table
from cardmatch.catalogue.importers.knowledge import provider_id
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.money.offer import AsOfKind, NativePrice, OfferLink, PriceKind, PricePoint, Tier
from cardmatch.engine.money.provider import Provider

SUFFIXES = (".json", ".jsonl", ".csv", ".toml")
Name = Annotated[str, Meta(min_length=1, max_length=120)]


class OwnOffer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row: provider, card and price are enough. The fields of an offer are all understood, so that what
    GET /offers lists can be brought in again. A price of 0 is refused as unknown, like an empty one.
    """

    provider: Name
    card: Name | None = None
    card_candidates: tuple[Name, ...] | None = None
    usd_per_hour: float | None = None
    id: Name | None = None
    instance_type: Name | None = None
    memory_gb: float | None = None
    gpu_count: Annotated[int, Meta(ge=1, le=1024)] = 1
    vcpus: int | None = None
    ram_gb: int | None = None
    spot_usd_per_hour: float | None = None
    price_kind: PriceKind = PriceKind.LIST
    price_native: NativePrice | None = None
    tier: Tier = Tier.STANDARD
    broker: Name | None = None
    region: Name | None = None
    server_country: Name | None = None
    link: OfferLink | None = None
    mig_profile: Name | None = None
    setup_fee_usd: float | None = None
    billing_increment_seconds: int | None = None
    egress_usd_per_gb: float | None = None
    included_egress_gb: float | None = None
    storage_usd_per_gb_month: float | None = None
    network_gb_s: float | None = None
    valid_from: dt.date | None = None
    valid_until: dt.date | None = None
    as_of: dt.date | None = None
    as_of_kind: AsOfKind = AsOfKind.EXACT
    as_of_range: tuple[dt.date | None, dt.date] | None = None
    source: str | None = None
    note: str | None = None
    history: tuple[PricePoint, ...] = ()


_FACTS = (
    *("mig_profile", "setup_fee_usd", "billing_increment_seconds", "egress_usd_per_gb", "included_egress_gb"),
    *("storage_usd_per_gb_month", "network_gb_s", "valid_from", "valid_until", "history"),
)


class OwnFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a file brings: rows to be judged one by one, and providers and cards that are taken or refused whole."""

    offers: tuple[Any, ...] = ()
    providers: tuple[Provider, ...] = ()
    cards: tuple[Card, ...] = ()


def read(raw: bytes, name: str) -> OwnFile:
    """The content of the file *name*, by its suffix. Raises Unreadable."""
    suffix = name[name.rfind(".") :].lower()
    try:
        if suffix == ".csv":
            return OwnFile(
                offers=tuple({key: cell for key, cell in row.items() if cell} for _, row in table(raw, name))
            )
        if suffix == ".jsonl":
            return OwnFile(offers=tuple(msgspec.json.Decoder().decode_lines(raw)))
        document = tomllib.loads(raw.decode()) if suffix == ".toml" else msgspec.json.decode(raw)
        return _document(document)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"{name}: {problem}") from problem


def _document(document: Any) -> OwnFile:
    """A list of offers, or an object with offers, providers and cards."""
    if isinstance(document, list):
        return OwnFile(offers=tuple(document))
    if isinstance(document, dict) and document and document.keys() <= set(OwnFile.__struct_fields__):
        return msgspec.convert(document, OwnFile)
    raise Unreadable("neither a list of offers nor an object with offers, providers or cards")


def drafts(file: OwnFile, origin: Origin) -> Iterator[Draft | Rejection]:
    """The offers of *file*; a row that does not fit is rejected with what is wrong and where."""
    for position, row in enumerate(file.offers):
        place = f"{origin.name}#{position}"
        try:
            # Cells of a CSV file are text, so numbers are read from text too.
            own = msgspec.convert(row, OwnOffer, strict=False)
        except msgspec.ValidationError as problem:
            yield Rejection(place=place, reason=RejectReason.MALFORMED, detail=str(problem))
            continue
        yield _draft(place, own, origin)


def _draft(place: str, row: OwnOffer, origin: Origin) -> Draft:
    names = (row.card,) if row.card else ()
    return Draft(
        place=place,
        id=row.id,
        provider=provider_id(row.provider),
        instance_type=row.instance_type or f"{row.gpu_count}x {' or '.join(names or row.card_candidates or ('?',))}",
        card_names=names,
        card_candidates=row.card_candidates or (),
        memory_gb=() if row.memory_gb is None else (row.memory_gb,),
        gpu_count=row.gpu_count,
        vcpus=row.vcpus,
        ram_gb=row.ram_gb,
        usd_per_hour=row.usd_per_hour,
        spot_usd_per_hour=row.spot_usd_per_hour,
        price_kind=row.price_kind,
        price_native=row.price_native,
        tier=row.tier,
        broker=provider_id(row.broker) if row.broker else None,
        region=row.region,
        server_country=row.server_country,
        link=row.link,
        as_of=row.as_of or origin.as_of,
        as_of_kind=row.as_of_kind if row.as_of else origin.as_of_kind,
        as_of_range=row.as_of_range if row.as_of else origin.as_of_range,
        source=row.source or origin.name,
        note=row.note,
        facts={name: getattr(row, name) for name in _FACTS},
    )
