"""The caller's own machines as offers among others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from cardmatch.engine.advice.question import OwnOffer
from cardmatch.engine.money.offer import AsOfKind, Offer, PriceKind, Tier
from cardmatch.engine.terms.fault import FaultCode, refusal

OWN = "own"
"""The provider of such offers; the catalogue has none of this name."""


class OwnOffers(NamedTuple):
    """Offers by id, and how many machines of each there are (null: as many as wanted)."""

    offers: Mapping[str, Offer]
    stock: Mapping[str, int | None]


def own_id(row: OwnOffer) -> str:
    """The name of *row* among the offers."""
    return f"{OWN}/{row.sku.lower()}"


def own_offers(rows: tuple[OwnOffer, ...], priced_on: dt.date) -> OwnOffers:
    """*rows*, whose cards are ids. Raises Invalid where two have the same sku."""
    offers: dict[str, Offer] = {}
    stock: dict[str, int | None] = {}
    for index, row in enumerate(rows):
        name = own_id(row)
        if name in offers:
            raise refusal(FaultCode.LABEL_TWICE, f"/offers/{index}/sku", name=row.sku)
        offers[name] = Offer(
            id=name,
            provider=OWN,
            instance_type=row.sku,
            card=row.card,
            card_candidates=None,
            gpu_count=row.count,
            mig_profile=row.mig_profile,
            usd_per_hour=row.usd_per_hour,
            price_kind=PriceKind.LIST,
            tier=Tier.STANDARD,
            server_country=row.country,
            as_of=priced_on,
            as_of_kind=AsOfKind.EXACT,
            source=row.url or "the request",
        )
        stock[name] = row.stock
    return OwnOffers(offers, stock)
