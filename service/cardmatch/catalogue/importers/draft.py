"""A row on its way to becoming an offer, and the reasons for leaving one out."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Any

import msgspec

from cardmatch.engine.money.offer import AsOfKind, NativePrice, OfferLink, PriceKind, Tier


class RejectReason(StrEnum):
    """Why a row did not become an offer."""

    NO_GPU = "no_gpu"
    FRACTIONAL_GPU = "fractional_gpu"
    MALFORMED = "malformed"
    UNKNOWN_CARD = "unknown_card"
    CARD_NOT_LISTED = "card_not_listed"
    CARD_MEMORY_CONFLICT = "card_memory_conflict"
    NO_PRICE = "no_price"
    PLACEHOLDER_PRICE = "placeholder_price"
    PRICE_IMPLAUSIBLE = "price_implausible"
    PRICE_SHARED_BY_CARDS = "price_shared_by_cards"
    PRICE_WITHOUT_HOST = "price_without_host"
    HOST_WITHOUT_GPU_PRICE = "host_without_gpu_price"
    DISTRUSTED_SOURCE = "distrusted_source"
    UNKNOWN_MIG_PROFILE = "unknown_mig_profile"
    DUPLICATE = "duplicate"


class Rejection(msgspec.Struct, frozen=True, kw_only=True):
    """A row that was left out: where it stands (file and line, or position), why, and what it said."""

    place: str
    reason: RejectReason
    detail: str


class Draft(msgspec.Struct, kw_only=True):
    """What a source says of one instance, in the units of the wire, before names are resolved and rules applied.

    `card_names` are tried in order; `card_candidates` are ids, where the source itself knows that it cannot tell.
    `memory_gb` are readings of the memory column, since sources disagree with themselves about its unit; any one may be
    right. A price of zero means that the source knows none. `nvlink` says that the cards are
    joined without saying how. `facts` are further fields of an offer, taken as they are.
    """

    place: str
    provider: str
    instance_type: str
    card_names: tuple[str, ...]
    card_candidates: tuple[str, ...] = ()
    memory_gb: tuple[float, ...] = ()
    gpu_count: int
    vcpus: int | None = None
    ram_gb: int | None = None
    usd_per_hour: float | None = None
    spot_usd_per_hour: float | None = None
    price_kind: PriceKind = PriceKind.LIST
    price_native: NativePrice | None = None
    tier: Tier = Tier.STANDARD
    broker: str | None = None
    region: str | None = None
    server_country: str | None = None
    link: OfferLink | None = None
    nvlink: bool = False
    as_of: dt.date
    as_of_kind: AsOfKind = AsOfKind.EXACT
    as_of_range: tuple[dt.date | None, dt.date] | None = None
    source: str
    note: str | None = None
    id: str | None = None
    facts: dict[str, Any] = {}


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a batch of rows was read, and on which day their prices held."""

    name: str
    as_of: dt.date
    as_of_kind: AsOfKind

    @property
    def as_of_range(self) -> tuple[dt.date | None, dt.date] | None:
        """An estimated day is the end of a range whose start is unknown."""
        return (None, self.as_of) if self.as_of_kind is AsOfKind.ESTIMATED else None


def number(text: object) -> float | None:
    """The figure in a cell; None for an empty one, for what is no number, and for zero, which means unknown."""
    try:
        value = float(str(text).strip() or 0)
    except ValueError:
        return None
    return value if value > 0 and value != float("inf") else None


def whole(text: object) -> int | None:
    """The whole number in a cell (sources print `8.0`); None where there is none above zero."""
    value = number(text)
    return round(value) if value is not None and value >= 1 else None
