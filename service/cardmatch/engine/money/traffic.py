"""What leaves and enters the machine: allowances, tiers, and the price of the first byte beyond."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import UsdPerGb


class EgressTier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price per GB up to so many GB in all; the last tier has no end."""

    up_to_gb: Annotated[float, Meta(gt=0, le=10**12, description="GB (10^9 bytes), counted from the first.")] | None
    usd_per_gb: UsdPerGb


def egress_usd(gigabytes: float, included_gb: float, tiers: tuple[EgressTier, ...]) -> float:
    """Price of *gigabytes* out, of which *included_gb* are free; tiers are counted from the first paid GB.

    Beyond a last tier that ends, its price goes on.
    """
    left, done, paid = max(gigabytes - included_gb, 0.0), 0.0, 0.0
    for tier in tiers:
        here = left if tier.up_to_gb is None or tier is tiers[-1] else min(left, max(tier.up_to_gb - done, 0.0))
        paid += here * tier.usd_per_gb
        left -= here
        done += here
    return paid
