"""A provider: who rents out the machine, on what terms. A null fact was not found, and never satisfies a condition."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import CountryCode, Gigabytes, Note, ProviderId, Seconds, Source, Usd, UsdPerGb


class IdentityCheck(StrEnum):
    """What a customer must prove; `unknown` is as good as nothing known."""

    NONE = "none"
    EMAIL = "email"
    DOCUMENT = "document"
    UNKNOWN = "unknown"


class Billing(StrEnum):
    """A balance paid in beforehand, a charge afterwards, or either."""

    PREPAID = "prepaid"
    POSTPAID = "postpaid"
    BOTH = "both"


class Bandwidth(StrEnum):
    """Whether traffic out is charged."""

    UNMETERED = "unmetered"
    METERED = "metered"
    INCLUDED_ALLOWANCE = "included_allowance"


class PaymentMethod(StrEnum):
    """How a customer can pay."""

    CARD = "card"
    PAYPAL = "paypal"
    BANK = "bank"
    DIRECT_DEBIT = "direct_debit"
    CRYPTO = "crypto"
    BITCOIN = "bitcoin"
    MONERO = "monero"
    GOOGLE_PAY = "google_pay"
    APPLE_PAY = "apple_pay"
    BALANCE = "balance"


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider. `sources` names where each filled field was read; `uncertain` lists fields from weak pages."""

    id: ProviderId
    name: Annotated[str, Meta(min_length=1, max_length=80)]
    company_country: CountryCode | None = None
    server_countries: Annotated[tuple[CountryCode, ...], Meta(min_length=1, max_length=100)] | None = None
    identity_check: IdentityCheck = IdentityCheck.UNKNOWN
    billing: Billing | None = None
    payment_methods: Annotated[tuple[PaymentMethod, ...], Meta(min_length=1, max_length=20)] | None = None
    bandwidth: Bandwidth | None = None
    egress_usd_per_gb: UsdPerGb | None = None
    included_egress_gb_month: Gigabytes | None = None
    storage_usd_per_gb_month: UsdPerGb | None = None
    billing_increment_seconds: Seconds | None = None
    min_top_up_usd: Usd | None = None
    hours_per_month: Annotated[int, Meta(ge=1, le=744)] | None = None
    sla_percent: Annotated[float, Meta(gt=0, le=100)] | None = None
    refund_days_cash: Annotated[int, Meta(ge=0, le=365)] | None = None
    refund_days_credit: Annotated[int, Meta(ge=0, le=365)] | None = None
    storage_kind: Annotated[str, Meta(min_length=1, max_length=20)] | None = None
    dedicated_gpus: bool | None = None
    root_access: bool | None = None
    ddos_protection: bool | None = None
    sources: Annotated[dict[str, Source], Meta(max_length=32)] = {}
    uncertain: Annotated[tuple[str, ...], Meta(max_length=32)] = ()
    note: Note | None = None
