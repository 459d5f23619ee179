"""A small market with round figures, and questions put to it in the words of the wire."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from cardmatch.engine.money.answer import CostFigures, OptionCost
from cardmatch.engine.money.cost import cost
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Interval, LeadTime, Node, Ownership, OwnershipCosts
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.money.rating import Predictor
from cardmatch.engine.terms.fault import Fault, Invalid

TODAY = dt.date(2026, 11, 30)

H100 = Ownership(
    card="h100-sxm-80",
    msrp_usd=None,
    launch_listing_usd=None,
    street_usd=Interval(low=25_000, high=30_000),
    used_usd=None,
    node=Node(
        gpus=8,
        usd=Interval(low=300_000, high=350_000),
        kilowatts=10.2,
        residual_share_after_36_months=Interval(low=0.25, high=0.35),
        networking_share=Interval(low=0.10, high=0.15),
    ),
    tdp_watts=700,
    lead_time=LeadTime(low_weeks=None, high_weeks=40, source="a buyers' guide"),
    sources=("a market survey",),
    note=None,
)
RTX_4090 = Ownership(
    card="rtx-4090",
    msrp_usd=1599,
    launch_listing_usd=None,
    street_usd=Interval(low=1800, high=2200),
    used_usd=None,
    node=None,
    tdp_watts=450,
    lead_time=None,
    sources=("a review",),
    note=None,
)
COSTS = OwnershipCosts(
    colocation_usd_per_kw_month=Interval(low=150, high=250),
    colocation_source="a market survey",
    pue_world_average=1.54,
    pue_modern_site=1.2,
    pue_hyperscale=Interval(low=1.1, high=1.2),
    pue_sources=("a survey",),
    electricity=(),
    electricity_sources=("a statistics office",),
    exchange_rates=(),
)


def offer(**fields: Any) -> dict[str, Any]:
    """An eight-GPU offer read today, with *fields* set otherwise."""
    return {
        "id": "acme/box/any/standard",
        "provider": "acme",
        "instance_type": "box",
        "card": "h100-sxm-80",
        "card_candidates": None,
        "gpu_count": 8,
        "usd_per_hour": 32.0,
        "price_kind": "list",
        "tier": "standard",
        "billing_increment_seconds": 1,
        "egress_usd_per_gb": 0.0,
        "as_of": TODAY.isoformat(),
        "as_of_kind": "exact",
        "source": "a price list",
    } | fields


def ask(
    body: dict[str, Any],
    *,
    offers: tuple[dict[str, Any], ...] = (),
    provider: dict[str, Any] | None = None,
    predict: Predictor | None = None,
) -> CostFigures:
    """The answer to *body* in a market of *offers*, all of one *provider*."""
    rows = [msgspec.convert(row, Offer) for row in offers]
    acme = msgspec.convert({"id": "acme", "name": "Acme"} | (provider or {}), Provider)
    return cost(
        msgspec.convert(body, CostQuestion),
        offers={row.id: row for row in rows},
        providers={"acme": acme},
        ownership={row.card: row for row in (H100, RTX_4090)},
        ownership_costs=COSTS,
        priced_on=TODAY,
        predict=predict,
    )


def option(usd_per_hour: float = 1.0, units_per_second: float = 1.0, **fields: Any) -> dict[str, Any]:
    """An option at the caller's price, billed by the second, with *fields* set otherwise."""
    return {
        "label": "a",
        "price": {"kind": "caller", "usd_per_hour": usd_per_hour},
        "throughput": {"kind": "measured", "units_per_second": units_per_second},
        "charges": {"billing_increment_seconds": 1},
        "startup": {},
    } | fields


def job(hours: float = 1.0, **fields: Any) -> dict[str, Any]:
    """A job that takes *hours* at one unit per second."""
    return {"kind": "job", "unit": "item", "units": hours * 3600} | fields


def only(figures: CostFigures) -> OptionCost:
    """The one option of an answer."""
    (single,) = figures.options
    return single


def lines(costed: OptionCost) -> dict[str, float]:
    """Dollars by line."""
    return {line.code.value: line.usd for line in costed.lines}


def refused(body: dict[str, Any], **market: Any) -> Fault:
    """The one fault of *body*; an answer fails the test."""
    try:
        ask(body, **market)
    except Invalid as invalid:
        (fault,) = invalid.faults
        return fault
    raise AssertionError("answered what should be refused")
