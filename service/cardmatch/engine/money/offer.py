"""An offer: one instance type of one provider in one place at one price, with the day on which the price was read.

Prices are per instance: a card inside an eight-GPU offer has no price of its own. A fact that nobody published is null,
and null never satisfies a condition.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.card import CardId
from cardmatch.engine.money.amounts import (
    CountryCode,
    Day,
    Gigabytes,
    Note,
    ProviderId,
    Seconds,
    Source,
    Usd,
    UsdPerGb,
    UsdPerHour,
)

OfferId = Annotated[
    str, Meta(min_length=3, max_length=160, pattern=r"^[a-z0-9][a-z0-9._/-]*$(?!\n)", description="Offer id.")
]


class PriceKind(StrEnum):
    """What a price is: published, the middle or the bottom of a market, a bidding floor, or on request (then null)."""

    LIST = "list"
    MARKET_MEDIAN = "market_median"
    MARKET_LOW = "market_low"
    FLOOR = "floor"
    CONTACT = "contact"


class AsOfKind(StrEnum):
    """How well the day of a price is known: read that day, that month, or the end of a range of days."""

    EXACT = "exact"
    MONTH = "month"
    ESTIMATED = "estimated"


class OfferLink(StrEnum):
    """What joins the cards of the instance."""

    PCIE = "pcie"
    BRIDGE = "bridge"
    NVSWITCH = "nvswitch"


class Tier(StrEnum):
    """Who runs the machine: the provider, vetted hosts, anybody, a marketplace, or a provider behind a broker."""

    STANDARD = "standard"
    SECURE = "secure"
    COMMUNITY = "community"
    MARKETPLACE = "marketplace"
    BROKERED = "brokered"


class PriceUnit(StrEnum):
    """What a native price buys."""

    HOUR = "hour"
    MONTH = "month"


class NativePrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price in the currency that it was published in; a null currency was never stated."""

    amount: Annotated[float, Meta(gt=0, le=10**9)]
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)", description="ISO 4217 code.")] | None
    unit: PriceUnit


class PricePoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the same offer cost before."""

    as_of: Day
    usd_per_hour: UsdPerHour | None
    spot_usd_per_hour: UsdPerHour | None


class Offer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the market. Either `card` is known, or `card_candidates` says what it may be.

    `valid_from` and `valid_until` are days that the source announces; `as_of` is when the price was read, and where
    that is only known as a range, its end. `history` holds earlier prices, newest first.
    """

    id: OfferId
    provider: ProviderId
    instance_type: Annotated[str, Meta(min_length=1, max_length=120)]
    card: CardId | None
    card_candidates: Annotated[tuple[CardId, ...], Meta(min_length=1, max_length=16)] | None
    gpu_count: Annotated[int, Meta(ge=1, le=1024)]
    mig_profile: Annotated[str, Meta(min_length=1, max_length=16)] | None = None
    vcpus: Annotated[int, Meta(ge=1, le=10**5)] | None = None
    ram_gb: Annotated[int, Meta(ge=1, le=10**6)] | None = None
    usd_per_hour: UsdPerHour | None
    spot_usd_per_hour: UsdPerHour | None = None
    price_kind: PriceKind
    price_native: NativePrice | None = None
    setup_fee_usd: Usd | None = None
    tier: Tier
    broker: ProviderId | None = None
    region: Annotated[str, Meta(min_length=1, max_length=80)] | None = None
    server_country: CountryCode | None = None
    billing_increment_seconds: Seconds | None = None
    link: OfferLink | None = None
    egress_usd_per_gb: UsdPerGb | None = None
    included_egress_gb: Gigabytes | None = None
    storage_usd_per_gb_month: UsdPerGb | None = None
    network_gb_s: Annotated[float, Meta(gt=0, le=10**4, description="GB (10^9 bytes) per second.")] | None = None
    valid_from: Day | None = None
    valid_until: Day | None = None
    as_of: Day
    as_of_kind: AsOfKind
    as_of_range: tuple[Day | None, Day] | None = None
    source: Source
    note: Note | None = None
    history: Annotated[tuple[PricePoint, ...], Meta(max_length=8)] = ()


def is_effective(offer: Offer, on: dt.date) -> bool:
    """Whether the price holds on that day, as far as the source announced."""
    if offer.valid_from is not None and on < offer.valid_from:
        return False
    return offer.valid_until is None or on <= offer.valid_until


def age_days(offer: Offer, on: dt.date) -> int:
    """Days since the price was read; zero for a price that is announced for later."""
    return max((on - offer.as_of).days, 0)
