"""Other currencies, at the rate that the caller states: exchange rates move, and none is looked up."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

CurrencyCode = Annotated[str, Meta(pattern=r"^[A-Z]{3}$(?!\n)", description="ISO 4217 code.", examples=["EUR"])]

Amount = Annotated[float, Meta(ge=0, le=1e21)]


class Currency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A currency and what one unit of it is worth: EUR at 1.16 means that a euro buys 1.16 dollars."""

    code: CurrencyCode
    usd: Annotated[float, Meta(ge=1e-6, le=10**6, description="US dollars for one unit of the currency.")]


class ForeignAmount(msgspec.Struct, frozen=True, kw_only=True):
    """An amount of the answer in the currency that the request asked for."""

    currency: CurrencyCode
    low: Amount
    expected: Amount
    high: Amount
