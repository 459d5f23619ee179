"""What an hour of one instance costs on a day, how old the price is, and how far off it may be."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping

import msgspec

from cardmatch.engine.money.currency import Currency
from cardmatch.engine.money.offer import Offer, PriceKind, PriceUnit, age_days, is_effective
from cardmatch.engine.money.price import CallerPrice, OfferPrice
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

FRESH_DAYS = 30
"""Until then a list price counts as it is: price tables were found wrong within weeks."""

STALE_DAYS = 180
UNDATED_DAYS = 365
"""Added to the age of a price of which only the last possible day is known."""

DRIFT_PER_QUARTER = 0.26
"""Natural log of what list prices move in a quarter, nine in ten: steps read in 2026 were +17, +19, +21 and +30 %."""

DAYS_PER_QUARTER = 91.25
MARKET_SPREAD = 0.47
"""How far the middle of a market lies above its bottom: 1.47 times in nine of ten pairs of offers of one card."""

_TO_BE_HAD = {PriceKind.LIST}
_BOTTOM = {PriceKind.MARKET_LOW, PriceKind.FLOOR}


class Quote(msgspec.Struct, frozen=True, gc=False):
    """Dollars an hour of one instance; `down` and `up` are how far the price may be off, as shares of it.

    `usd_per_hour` is null where a machine is only rented interruptibly, `gpus_per_instance` where the instance has as
    many GPUs as the option asks for.
    """

    kind: str
    usd_per_hour: float | None
    spot_usd_per_hour: float | None
    gpus_per_instance: int | None
    offer: Offer | None
    age_days: int | None
    down: float
    up: float
    basis: Basis
    notices: tuple[Notice, ...]


def caller_quote(price: CallerPrice) -> Quote:
    """The caller's price, which is taken as it is. Raises Invalid where it is stated twice, or not at all."""
    if (price.usd_per_hour is None) == (price.per_hour is None):
        raise refusal(FaultCode.EXACTLY_ONE_OF, "", fields=["usd_per_hour", "per_hour"])
    if price.per_hour is not None and price.currency is None:
        raise refusal(FaultCode.NEEDS_FIELD, "/per_hour", field="currency")
    foreign = price.per_hour * price.currency.usd if price.per_hour is not None and price.currency else 0.0
    return Quote(
        kind="caller",
        usd_per_hour=price.usd_per_hour if price.usd_per_hour is not None else foreign,
        spot_usd_per_hour=price.spot_usd_per_hour,
        gpus_per_instance=price.gpus_per_instance,
        offer=None,
        age_days=None,
        down=0.0,
        up=0.0,
        basis=Basis.EXACT,
        notices=(),
    )


def offer_quote(price: OfferPrice, offers: Mapping[str, Offer], on: dt.date, hours_per_month: float) -> Quote:
    """The price of an offer on a day, wider the older it is and where nobody may get it.

    Raises Invalid at `/offer`: not in the catalogue, not valid on that day, or without a price in dollars.
    """
    offer = offers.get(price.offer)
    if offer is None:
        raise refusal(FaultCode.UNKNOWN_OFFER, "/offer", name=price.offer)
    _check_effective(offer, on)
    usd_per_hour = _usd_per_hour(offer, price.currency, hours_per_month)
    age = age_days(offer, on)
    drift = _drift(_oldest_days(offer, on))
    up = math.expm1(drift)
    if offer.price_kind in _BOTTOM:
        up = math.hypot(up, MARKET_SPREAD)
    aged = drift > 0 or offer.price_kind not in _TO_BE_HAD
    return Quote(
        kind="offer",
        usd_per_hour=usd_per_hour,
        spot_usd_per_hour=offer.spot_usd_per_hour,
        gpus_per_instance=offer.gpu_count,
        offer=offer,
        age_days=age,
        down=-math.expm1(-drift),
        up=up,
        basis=Basis.EXTRAPOLATED if aged else Basis.EXACT,
        notices=(*_notices(offer, age, drift), *_of_currency(offer, price.currency), *read_later(offer, on)),
    )


def _check_effective(offer: Offer, on: dt.date) -> None:
    if is_effective(offer, on):
        return
    if offer.valid_until is not None and on > offer.valid_until:
        days = {"valid_until": offer.valid_until.isoformat(), "priced_on": on.isoformat()}
        raise refusal(FaultCode.OFFER_EXPIRED, "/offer", name=offer.id, **days)
    days = {"valid_from": str(offer.valid_from), "priced_on": on.isoformat()}
    raise refusal(FaultCode.OFFER_NOT_YET_VALID, "/offer", name=offer.id, **days)


def _usd_per_hour(offer: Offer, currency: Currency | None, hours_per_month: float) -> float | None:
    """The published dollars, or the native price at the caller's rate, which goes first; null where spot is all."""
    native = offer.price_native
    if currency is not None and native is not None and native.currency in {None, currency.code}:
        return native.amount * currency.usd / (hours_per_month if native.unit is PriceUnit.MONTH else 1.0)
    if offer.usd_per_hour is not None or offer.spot_usd_per_hour is not None:
        return offer.usd_per_hour
    if native is not None and native.currency is not None:
        raise refusal(FaultCode.OFFER_IN_OTHER_CURRENCY, "/currency", name=offer.id, currency=native.currency)
    raise refusal(FaultCode.OFFER_WITHOUT_PRICE, "/offer", name=offer.id)


def _oldest_days(offer: Offer, on: dt.date) -> int:
    """Age reckoned from the first day on which the price may have been read."""
    if offer.as_of_range is None:
        return age_days(offer, on)
    first = offer.as_of_range[0]
    return age_days(offer, on) + UNDATED_DAYS if first is None else max((on - first).days, 0)


def _drift(days: int) -> float:
    """Log of what a price may have moved in *days*: as a random walk, with the root of time."""
    return DRIFT_PER_QUARTER * math.sqrt(days / DAYS_PER_QUARTER) if days > FRESH_DAYS else 0.0


def _of_currency(offer: Offer, currency: Currency | None) -> tuple[Notice, ...]:
    """That nobody stated the currency of a price, and the caller's was taken."""
    native = offer.price_native
    if currency is None or native is None or native.currency is not None:
        return ()
    return (notice(NoticeCode.PRICE_CURRENCY_ASSUMED, Severity.CAUTION, currency=currency.code),)


def read_later(offer: Offer, on: dt.date) -> tuple[Notice, ...]:
    """That the price was only read after the day it is used for, and not announced for that day."""
    if on >= offer.as_of or (offer.valid_from is not None and offer.valid_from <= on):
        return ()
    days = {"as_of": offer.as_of.isoformat(), "priced_on": on.isoformat()}
    return (notice(NoticeCode.PRICE_READ_LATER, Severity.WARNING, **days),)


def _notices(offer: Offer, age: int, drift: float) -> tuple[Notice, ...]:
    found = []
    if drift > 0:
        severity = Severity.WARNING if age > STALE_DAYS else Severity.CAUTION
        if age <= FRESH_DAYS:
            found.append(notice(NoticeCode.PRICE_UNDATED, severity, as_of=offer.as_of.isoformat()))
        else:
            found.append(notice(NoticeCode.PRICES_OLD, severity, age_days=age))
    if offer.price_kind in _BOTTOM:
        found.append(notice(NoticeCode.PRICE_MAY_NOT_BE_AVAILABLE, Severity.CAUTION))
    elif offer.price_kind is PriceKind.MARKET_MEDIAN:
        found.append(notice(NoticeCode.PRICE_IS_MARKET_MEDIAN, Severity.CAUTION))
    return tuple(found)
