"""Where a price comes from: the caller, an offer of the catalogue, an API that sells tokens, or a purchase."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.currency import Currency
from cardmatch.engine.money.offer import OfferId
from cardmatch.engine.money.purchase import Purchase

PerHour = Annotated[float, Meta(ge=1e-6, le=10**6, description="Per hour of one instance.")]
PerMillion = Annotated[float, Meta(ge=0, le=10**6, description="US dollars per million tokens.")]
GpusPerInstance = Annotated[int, Meta(ge=1, le=1024, description="GPUs of one instance, which is rented whole.")]


class _Price(msgspec.Struct, tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price of one kind."""


class CallerPrice(_Price, tag="caller", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The caller's own price of one instance: in dollars, or `per_hour` in a currency at the rate given with it.

    An instance has as many GPUs as the option, unless `gpus_per_instance` says otherwise.
    """

    usd_per_hour: PerHour | None = None
    per_hour: PerHour | None = None
    currency: Currency | None = None
    spot_usd_per_hour: PerHour | None = None
    gpus_per_instance: GpusPerInstance | None = None


class OfferPrice(_Price, tag="offer", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An offer of the catalogue; `currency` gives the rate for offers that are published in another currency."""

    offer: OfferId
    currency: Currency | None = None


class TokenApiPrice(_Price, tag="token_api", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody else's endpoint, paid by the token."""

    usd_per_million_input: PerMillion
    usd_per_million_output: PerMillion


class PurchasePrice(Purchase, tag="purchase", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine that is bought."""


Price = CallerPrice | OfferPrice | TokenApiPrice | PurchasePrice
