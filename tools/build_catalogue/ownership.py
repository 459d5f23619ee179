"""ownership.json: what buying, housing and powering a card costs."""

from __future__ import annotations

import datetime as dt
import pathlib
from typing import Any

import msgspec

from cardmatch.engine.money.ownership import (
    ElectricityPrice,
    ExchangeRate,
    Interval,
    LeadTime,
    Node,
    Ownership,
    OwnershipCosts,
)
from tools.build_catalogue.files import one_row_a_line, read_json


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """`ownership.json`, sorted by card."""
    source = read_json(shared / "ownership.json")
    rows = [ownership(card, row) for card, row in sorted(source["cards"].items())]
    head = {"as_of": source["_about"]["retrieved"], "costs": msgspec.to_builtins(costs(source))}
    return {"ownership.json": one_row_a_line(head, "cards", rows)}


def ownership(card: str, row: dict[str, Any]) -> Ownership:
    """What one card costs to own."""
    lead = row["lead_time_weeks"]
    return Ownership(
        card=card,
        msrp_usd=row["msrp_usd"],
        launch_listing_usd=row["launch_listing_usd"],
        street_usd=interval(row["street_usd"]),
        used_usd=interval(row["used_usd"]),
        node=node(row["node"]),
        tdp_watts=row["tdp_w"],
        lead_time=lead and LeadTime(low_weeks=lead["low"], high_weeks=lead["high"], source=lead["source"]),
        sources=tuple(row["sources"]),
        note=row["note"],
    )


def interval(pair: list[float] | None) -> Interval | None:
    """From low to high."""
    return None if pair is None else Interval(low=pair[0], high=pair[1])


def node(row: dict[str, Any] | None) -> Node | None:
    """A complete server."""
    if row is None:
        return None
    return Node(
        gpus=row["gpus"],
        usd=Interval(low=row["usd"][0], high=row["usd"][1]),
        kilowatts=row["kw"],
        residual_share_after_36_months=Interval(
            low=row["residual_share_after_36_months"][0], high=row["residual_share_after_36_months"][1]
        ),
        networking_share=Interval(low=row["networking_share"][0], high=row["networking_share"][1]),
    )


def costs(source: dict[str, Any]) -> OwnershipCosts:
    """What every card shares."""
    colocation, power = source["colocation_usd_per_kw_month"], source["power"]
    low, high = power["pue"]["hyperscale"]
    return OwnershipCosts(
        colocation_usd_per_kw_month=Interval(low=colocation["low"], high=colocation["high"]),
        colocation_source=colocation["source"],
        pue_world_average=power["pue"]["global_weighted_average_2025"],
        pue_modern_site=power["pue"]["modern_site"],
        pue_hyperscale=Interval(low=low, high=high),
        pue_sources=tuple(power["pue"]["sources"]),
        electricity=tuple(electricity(power["usd_per_kwh"])),
        electricity_sources=tuple(power["usd_per_kwh"]["sources"]),
        exchange_rates=(
            ExchangeRate(
                currency="EUR",
                usd=power["fx"]["eur_usd"],
                as_of=dt.date.fromisoformat(power["fx"]["as_of"]),
                source=power["fx"]["source"],
            ),
        ),
    )


def electricity(row: dict[str, Any]) -> list[ElectricityPrice]:
    """Every price read: Eurostat's averages and extremes (euros), and figures for the United States (dollars)."""
    low, high = row["us_dc_rule_of_thumb_usd"]
    extremes = {**row["eu_household_min"], **row["eu_household_max"]}
    return [
        price("eu_household_2025_h1", None, "EUR", row["eu_household_h1_2025_eur"]),
        price("eu_business_2025_h1", None, "EUR", row["eu_nonhousehold_h1_2025_eur"]),
        *(price(f"{code.lower()}_household_2025_h1", code, "EUR", each) for code, each in sorted(extremes.items())),
        price("us_retail_2022", "US", "USD", row["us_retail_2022_avg_usd"]),
        price("us_data_centre_rule_of_thumb", "US", "USD", low, high),
        price("data_centre_calculator_default", None, "USD", row["aidc_calculator_default_usd"]),
    ]


def price(name: str, country: str | None, currency: str, low: float, high: float | None = None) -> ElectricityPrice:
    """One price, or a range of them."""
    return ElectricityPrice(
        id=name, country=country, currency=currency, low_per_kwh=low, high_per_kwh=low if high is None else high
    )
