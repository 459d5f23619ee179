"""What a provider charges beside the hour: increments, traffic, storage, addresses, set-up, tax, balances.

What the request leaves out is taken from the offer, then from the provider, then from a default that is echoed.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import Gigabytes, Usd, UsdPerGb
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.provider import Bandwidth, Billing, Provider
from cardmatch.engine.money.traffic import EgressTier

HOURS_PER_MONTH = 730.0
"""8,760 hours a year over twelve, which most calculators use; a provider's own figure goes first."""

SECONDS_WHERE_UNKNOWN = 1
"""Billing increment where nobody published one; the band then reaches up to billing by the hour."""

AUTO_STOP_SECONDS = 10
"""RunPod stops machines whose balance lasts less than ten seconds; used for every prepaid provider."""

EGRESS_WHERE_UNKNOWN = 0.12
"""Dollars per GB at the upper end of the band where no price is known: the dearest first tier read (Google Cloud)."""

STORAGE_WHERE_UNKNOWN = 0.10
"""Dollars per GB and month, likewise: the dearest read (Google Cloud, DigitalOcean)."""

Increment = Annotated[int, Meta(ge=1, le=2_678_400, description="Seconds to which time is rounded up.")]
BilledMonth = Annotated[float, Meta(ge=600, le=744, description="Hours that a month is billed as.")]
HourlyCharge = Annotated[float, Meta(ge=0, le=10**6, description="US dollars per hour.")]


class Charges(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Terms of one option; null means: as the offer or its provider has it."""

    billing_increment_seconds: Increment | None = None
    minimum_seconds: Annotated[int, Meta(ge=0, le=2_678_400, description="Least that a start is billed.")] = 0
    hours_per_month: BilledMonth | None = None
    egress_usd_per_gb: UsdPerGb | None = None
    egress_tiers: Annotated[tuple[EgressTier, ...], Meta(min_length=1, max_length=16)] | None = None
    included_egress_gb: Gigabytes | None = None
    ingress_usd_per_gb: UsdPerGb = 0.0
    storage_usd_per_gb_month: UsdPerGb | None = None
    stopped_storage_usd_per_gb_month: UsdPerGb | None = None
    public_ip_usd_per_hour: HourlyCharge = 0.0
    keep_warm_usd_per_hour: HourlyCharge | None = None
    setup_usd: Usd | None = None
    tax_share: Annotated[float, Meta(ge=0, le=1, description="Of everything on the invoice.")] = 0.0
    prepaid: bool | None = None
    min_top_up_usd: Usd | None = None
    auto_stop_seconds: Annotated[int, Meta(ge=0, le=86_400)] | None = None


class Terms(msgspec.Struct, frozen=True, gc=False):
    """Charges with every gap filled. Null remains where a price is unknown and matters only if the item is used."""

    increment_seconds: int
    increment_known: bool
    minimum_seconds: int
    hours_per_month: float
    month_known: bool
    egress: tuple[EgressTier, ...] | None
    included_egress_gb: float
    ingress_usd_per_gb: float
    storage_usd_per_gb_month: float | None
    stopped_storage_usd_per_gb_month: float | None
    public_ip_usd_per_hour: float
    keep_warm_usd_per_hour: float | None
    setup_usd: float
    tax_share: float
    prepaid: bool
    min_top_up_usd: float
    auto_stop_seconds: int


_NO_PROVIDER = Provider(id="unknown", name="unknown")


def month_hours(charges: Charges, provider: Provider | None) -> float:
    """Hours that a month is billed as: the caller's, the provider's, else a twelfth of a year."""
    return charges.hours_per_month or (provider.hours_per_month if provider else None) or HOURS_PER_MONTH


def terms_of(charges: Charges, offer: Offer | None, provider: Provider | None) -> Terms:
    """The charges of an option over those of its offer over those of its provider."""
    provider = provider or _NO_PROVIDER
    increment = _first(
        charges.billing_increment_seconds,
        offer.billing_increment_seconds if offer else None,
        provider.billing_increment_seconds,
    )
    storage = _first(
        charges.storage_usd_per_gb_month,
        offer.storage_usd_per_gb_month if offer else None,
        provider.storage_usd_per_gb_month,
    )
    prepaid = provider.billing is Billing.PREPAID if charges.prepaid is None else charges.prepaid
    return Terms(
        increment_seconds=int(increment) if increment else SECONDS_WHERE_UNKNOWN,
        increment_known=increment is not None,
        minimum_seconds=charges.minimum_seconds,
        hours_per_month=month_hours(charges, provider),
        month_known=charges.hours_per_month is not None or provider.hours_per_month is not None,
        egress=_egress(charges, offer, provider),
        included_egress_gb=_first(
            charges.included_egress_gb, offer.included_egress_gb if offer else None, provider.included_egress_gb_month
        )
        or 0.0,
        ingress_usd_per_gb=charges.ingress_usd_per_gb,
        storage_usd_per_gb_month=storage,
        stopped_storage_usd_per_gb_month=_first(charges.stopped_storage_usd_per_gb_month, storage),
        public_ip_usd_per_hour=charges.public_ip_usd_per_hour,
        keep_warm_usd_per_hour=charges.keep_warm_usd_per_hour,
        setup_usd=_first(charges.setup_usd, offer.setup_fee_usd if offer else None) or 0.0,
        tax_share=charges.tax_share,
        prepaid=prepaid,
        min_top_up_usd=_first(charges.min_top_up_usd, provider.min_top_up_usd) or 0.0,
        auto_stop_seconds=AUTO_STOP_SECONDS if charges.auto_stop_seconds is None else charges.auto_stop_seconds,
    )


def _first(first: float | None, second: float | None, third: float | None = None) -> float | None:
    if first is not None:
        return first
    return second if second is not None else third


def _egress(charges: Charges, offer: Offer | None, provider: Provider) -> tuple[EgressTier, ...] | None:
    if charges.egress_tiers is not None:
        return charges.egress_tiers
    price = _first(charges.egress_usd_per_gb, offer.egress_usd_per_gb if offer else None, provider.egress_usd_per_gb)
    if price is None and provider.bandwidth is Bandwidth.UNMETERED:
        price = 0.0
    return None if price is None else (EgressTier(up_to_gb=None, usd_per_gb=price),)
