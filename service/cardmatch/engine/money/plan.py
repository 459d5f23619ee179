"""One option with every figure filled in: the numbers that a bill is made of, and nothing else."""

from __future__ import annotations

import msgspec

from cardmatch.engine.money.spot import Spot
from cardmatch.engine.money.traffic import EgressTier


class Plan(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Everything that `bill` needs, per instance where not said otherwise.

    `units` is of one run or of a month (zero: whatever the utilisation gives); `usd_per_hour` is of one instance,
    `used_share` the share of its GPUs that work; `committed_hours` the hours of a reserved term, else zero;
    `lead_hours` what a purchase keeps waiting.
    """

    service: bool
    owned: bool
    units: float
    units_per_second: float
    utilisation: float
    usd_per_hour: float
    instances: int
    used_share: float
    month_hours: float
    runs: float = 1.0
    failed_share: float = 0.0
    startup_hours: float = 0.0
    idle_hours: float = 0.0
    keep_warm_usd_per_hour: float | None = None
    increment_hours: float = 1 / 3600
    minimum_hours: float = 0.0
    spot: Spot | None = None
    service_hours: float = 0.0
    keep_warm: bool = True
    starts: int = 1
    committed_hours: float = 0.0
    in_gb: float = 0.0
    out_gb: float = 0.0
    stored_gb: float = 0.0
    stopped_hours: float = 0.0
    egress: tuple[EgressTier, ...] = ()
    included_egress_gb: float = 0.0
    ingress_usd_per_gb: float = 0.0
    storage_usd_per_gb_month: float = 0.0
    stopped_storage_usd_per_gb_month: float = 0.0
    public_ip_usd_per_hour: float = 0.0
    setup_usd: float = 0.0
    tax_share: float = 0.0
    min_top_up_usd: float = 0.0
    time_value_usd_per_hour: float = 0.0
    lead_hours: float = 0.0


class ApiPlan(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Work bought by the token: requests are of one run or of a month, prices per token."""

    units: float
    requests: float
    prompt_tokens: float
    output_tokens: float
    usd_per_input_token: float
    usd_per_output_token: float
    runs: float = 1.0
    failed_share: float = 0.0
    tax_share: float = 0.0
