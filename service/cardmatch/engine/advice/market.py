"""The offers that the search may use: which meet the conditions, which do not, and of which too little is known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cardmatch.engine.advice.conditions import Conditions, Judged, judge
from cardmatch.engine.money.charges import SECONDS_WHERE_UNKNOWN
from cardmatch.engine.money.offer import Offer, PriceKind, is_effective
from cardmatch.engine.money.provider import Billing, Provider
from cardmatch.engine.money.spot import Spot


class Lot(NamedTuple):
    """An offer that meets every condition, what it costs an hour, how, how many there are, and how it is billed.

    `interruptions` is what the request says of spot machines, for those that are; less than `least_usd` cannot be paid.
    """

    offer: Offer
    usd_per_hour: float
    spot: bool
    stock: int | None
    own: bool
    increment_seconds: int
    interruptions: Spot | None = None
    least_usd: float = 0.0


class Rejected(NamedTuple):
    """An offer that cannot be used: the condition that it fails, or the facts that nobody knows."""

    offer: Offer
    failed: tuple[str, ...]
    unknown: tuple[str, ...]


class Market(NamedTuple):
    """Offers by card and size, cheapest first, and those left out."""

    lots: dict[str, tuple[Lot, ...]]
    rejected: dict[str, tuple[Rejected, ...]]
    unpriced: tuple[Rejected, ...]
    unknown: tuple[Rejected, ...]


def market(
    offers: Iterable[Offer],
    own: Mapping[str, int | None],
    providers: Mapping[str, Provider],
    conditions: Conditions,
    on: dt.date,
) -> Market:
    """*offers* sorted out; *own* has the stock of those that are the caller's."""
    lots: dict[str, list[Lot]] = {}
    rejected: dict[str, list[Rejected]] = {}
    unpriced, unknown = [], []
    stops = conditions.interruptions
    for offer in offers:
        if offer.price_kind is PriceKind.MARKET_MEDIAN or not is_effective(offer, on):
            continue  # the middle of a market is nobody's offer
        found = judge(offer, providers.get(offer.provider), conditions, on)
        sorted_out = Rejected(offer, found.failed, found.unknown)
        if found.failed:
            rejected.setdefault(offer.card or "", []).append(sorted_out)
            continue
        price, spot = _price(offer, spot=conditions.spot)
        if price is None:
            unpriced.append(sorted_out._replace(unknown=("usd_per_hour", *_unknown(offer, found))))
        elif offer.card is None or found.unknown:
            unknown.append(sorted_out._replace(unknown=_unknown(offer, found)))
        else:
            provider, own_stock = providers.get(offer.provider), own.get(offer.id)
            interruptions, bills = stops if spot else None, _increment(offer, provider)
            lots.setdefault(offer.card, []).append(
                Lot(offer, price, spot, own_stock, offer.id in own, bills, interruptions, _least(provider))
            )
    return Market(
        {card: tuple(sorted(each, key=_cheapest)) for card, each in lots.items()},
        {card: tuple(each) for card, each in rejected.items()},
        tuple(sorted(unpriced, key=_surest)),
        tuple(sorted(unknown, key=_surest)),
    )


def _least(provider: Provider | None) -> float:
    """The least that a prepaid balance is filled up with."""
    if provider is None or provider.billing is not Billing.PREPAID:
        return 0.0
    return provider.min_top_up_usd or 0.0


def _increment(offer: Offer, provider: Provider | None) -> int:
    """Seconds that billed time is rounded up to, as /cost counts them."""
    stated = offer.billing_increment_seconds or (provider.billing_increment_seconds if provider else None)
    return stated or SECONDS_WHERE_UNKNOWN


def _surest(row: Rejected) -> tuple[int, str]:
    """Fewest unknown facts first."""
    return len(row.unknown), row.offer.id


def _unknown(offer: Offer, found: Judged) -> tuple[str, ...]:
    return found.unknown if offer.card is not None else ("card", *found.unknown)


def _price(offer: Offer, *, spot: bool) -> tuple[float | None, bool]:
    """Dollars an hour that the offer can be had for, and whether that is its spot price."""
    usd, cheap = offer.usd_per_hour, offer.spot_usd_per_hour
    if spot and cheap is not None and (usd is None or cheap < usd):
        return cheap, True
    return usd, False


def _cheapest(lot: Lot) -> tuple[int, float, int, str]:
    """List prices before those that may not be had at the same price; ids settle what is equal."""
    return lot.offer.gpu_count, lot.usd_per_hour, lot.offer.price_kind is not PriceKind.LIST, lot.offer.id
