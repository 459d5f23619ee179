"""Owning instead of renting: what cards, servers, power and hosting cost, as ranges that were published.

NVIDIA publishes no list price for data-centre cards; street prices are third-party estimates, some 20 to 40 % apart.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.card import CardId
from cardmatch.engine.money.amounts import CountryCode, Day, Note, Source

Price = Annotated[float, Meta(gt=0, le=10**9, description="US dollars.")]
Share = Annotated[float, Meta(ge=0, le=1)]
Weeks = Annotated[float, Meta(ge=0, le=520, description="Weeks.")]
PerKilowattHour = Annotated[float, Meta(gt=0, le=10, description="Per kWh.")]


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From low to high, in the unit that the field's name gives."""

    low: Annotated[float, Meta(ge=0, le=10**9)]
    high: Annotated[float, Meta(ge=0, le=10**9)]


class LeadTime(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a buyer waits."""

    low_weeks: Weeks | None
    high_weeks: Weeks | None
    source: Source


class Node(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A complete server: cards, host, and the power that it draws."""

    gpus: Annotated[int, Meta(ge=1, le=72)]
    usd: Interval
    kilowatts: Annotated[float, Meta(gt=0, le=1000)]
    residual_share_after_36_months: Interval
    networking_share: Interval


class Ownership(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one card costs to own. Null was not found in anything read."""

    card: CardId
    msrp_usd: Price | None
    launch_listing_usd: Price | None
    street_usd: Interval | None
    used_usd: Interval | None
    node: Node | None
    tdp_watts: Annotated[int, Meta(ge=1, le=10_000)]
    lead_time: LeadTime | None
    sources: tuple[Source, ...]
    note: Note | None


class ElectricityPrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a kilowatt-hour costs somewhere; the currency is in `currency`, since rates move."""

    id: Annotated[str, Meta(min_length=1, max_length=40)]
    country: CountryCode | None
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)")]
    low_per_kwh: PerKilowattHour
    high_per_kwh: PerKilowattHour


class ExchangeRate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for one unit of another currency on a day."""

    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)")]
    usd: Annotated[float, Meta(gt=0, le=10**6)]
    as_of: Day
    source: Source


class OwnershipCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every card shares: hosting, power usage effectiveness (PUE), electricity, exchange rates."""

    colocation_usd_per_kw_month: Interval
    colocation_source: Source
    pue_world_average: Annotated[float, Meta(ge=1, le=5)]
    pue_modern_site: Annotated[float, Meta(ge=1, le=5)]
    pue_hyperscale: Interval
    pue_sources: tuple[Source, ...]
    electricity: tuple[ElectricityPrice, ...]
    electricity_sources: tuple[Source, ...]
    exchange_rates: tuple[ExchangeRate, ...]
