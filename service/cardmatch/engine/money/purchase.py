"""What a buyer knows of a machine, and what it then costs: the two ends of `owning`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.band import Dollars
from cardmatch.engine.money.work import Utilisation
from cardmatch.engine.terms.band import Basis

Share = Annotated[float, Meta(ge=0, le=1)]


class Purchase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What owning costs; null means: as published for the card, else a default that is echoed.

    `capex_usd` buys one machine of `gpus` cards, `power_kw` is what that machine draws. Hosting includes the power
    unless said otherwise. `utilisation` is the share of its life in which the owner has work for it.
    """

    capex_usd: Annotated[float, Meta(ge=1, le=10**9, description="US dollars for the whole machine.")] | None = None
    gpus: Annotated[int, Meta(ge=1, le=1024, description="Cards of the machine.")] | None = None
    life_years: Annotated[float, Meta(ge=0.25, le=15)] | None = None
    residual_share: Share | None = None
    cost_of_capital: Annotated[float, Meta(ge=0, le=1, description="Per year.")] | None = None
    power_kw: Annotated[float, Meta(ge=0, le=10**4)] | None = None
    pue: Annotated[float, Meta(ge=1, le=5)] | None = None
    usd_per_kwh: Annotated[float, Meta(ge=0, le=10)] | None = None
    hosting_usd_per_kw_month: Annotated[float, Meta(ge=0, le=10**5)] | None = None
    hosting_includes_power: bool = True
    networking_share: Annotated[Share, Meta(description="Of capex, for joining several machines.")] = 0.0
    spares_share: Annotated[Share, Meta(description="Of capex, kept on the shelf.")] = 0.0
    staff_usd_per_year: Annotated[float, Meta(ge=0, le=10**8)] = 0.0
    lead_time_weeks: Annotated[float, Meta(ge=0, le=260)] | None = None
    utilisation: Utilisation | None = None


class OwnedHour(msgspec.Struct, frozen=True, kw_only=True):
    """One hour of one owned GPU at full use, what it is made of, and what the machine costs at the start."""

    depreciation_usd: Dollars
    capital_usd: Dollars
    power_usd: Dollars
    hosting_usd: Dollars
    staff_usd: Dollars
    low_usd: Dollars
    expected_usd: Dollars
    high_usd: Dollars
    gpus_per_machine: Annotated[int, Meta(ge=1, le=1024)]
    capex_usd: Dollars
    lead_time_weeks: Annotated[float, Meta(ge=0, le=520)]
    basis: Annotated[Basis, Meta(description="exact: the caller's price and residual; rule_of_thumb: of bare cards.")]
