"""Owning instead of renting: what an hour of an owned card costs, and what it takes to pay off."""

from __future__ import annotations

import msgspec

from cardmatch.engine.money.answer import MOST_MONTHS
from cardmatch.engine.money.ownership import Interval, Ownership, OwnershipCosts
from cardmatch.engine.money.purchase import OwnedHour, Purchase
from cardmatch.engine.terms.band import Basis, weakest
from cardmatch.engine.terms.fault import FaultCode, refusal

HOURS_PER_YEAR = 8760.0
MONTHS_PER_YEAR = 12
HOURS_PER_WEEK = 168.0
# The assumptions under the published comparisons: three years, 30 % residual value, 10 % capital, 10 cents a kWh.
LIFE_YEARS = 3.0
RESIDUAL_AFTER_THREE_YEARS = Interval(low=0.25, high=0.35)
COST_OF_CAPITAL = 0.10
USD_PER_KWH = 0.10
# Over bare cards: a node of eight H100 costs 35 % more than its cards and draws 10.2 kW for 8 × 700 W.
NODE_OVER_CARDS = 1.35
NODE_WATTS_OVER_TDP = 10.2 / (8 * 0.7)
_WATTS = 1000.0

Defaults = list[tuple[str, float]]


class _Known(msgspec.Struct, frozen=True):
    """A purchase with its gaps filled: low to high where only a range is published."""

    capex: Interval
    gpus: int
    residual: Interval
    life_years: float
    cost_of_capital: float
    kilowatts: float
    basis: Basis


def owned_hour(purchase: Purchase, costs: OwnershipCosts, ownership: Ownership | None) -> tuple[OwnedHour, Defaults]:
    """capex(1−res)/H + r·capex(1+res)/2/8760 + kW·PUE·$/kWh + hosting + staff, per GPU and hour; and what was assumed.

    The range is that of the prices and residual values published. Raises Invalid with a pointer into the purchase
    where a price or power is neither given nor published.
    """
    defaults: Defaults = []
    known = _known(purchase, ownership, defaults)
    extra = (1 + purchase.networking_share + purchase.spares_share) / known.gpus
    power, hosting, staff = (part / known.gpus for part in _running(purchase, costs, known.kilowatts, defaults))
    rest = power + hosting + staff
    middle = (known.capex.low + known.capex.high) / 2
    depreciation, capital = _written_off(known, middle * extra, (known.residual.low + known.residual.high) / 2)
    hour = OwnedHour(
        depreciation_usd=depreciation,
        capital_usd=capital,
        power_usd=power,
        hosting_usd=hosting,
        staff_usd=staff,
        low_usd=sum(_written_off(known, known.capex.low * extra, known.residual.high)) + rest,
        expected_usd=depreciation + capital + rest,
        high_usd=sum(_written_off(known, known.capex.high * extra, known.residual.low)) + rest,
        gpus_per_machine=known.gpus,
        capex_usd=middle * extra * known.gpus,
        lead_time_weeks=_lead_time(purchase, ownership),
        basis=known.basis,
    )
    return hour, defaults


def months_to_pay_off(
    hour: OwnedHour, rent_usd_per_gpu_hour: float, hours_per_month: float, life_years: float
) -> float | None:
    """Months until the rent saved has paid the machine, its resale not counted; None where its life ends before."""
    running = (hour.power_usd + hour.hosting_usd + hour.staff_usd) * HOURS_PER_YEAR / MONTHS_PER_YEAR
    saved = rent_usd_per_gpu_hour * hours_per_month - running
    each = hour.capex_usd / hour.gpus_per_machine
    return each / saved if saved * min(life_years * MONTHS_PER_YEAR, MOST_MONTHS) >= each else None


def _written_off(known: _Known, price: float, left: float) -> tuple[float, float]:
    """Depreciation and cost of capital of one GPU bought at *price*, dollars an hour."""
    hours = known.life_years * HOURS_PER_YEAR
    return price * (1 - left) / hours, known.cost_of_capital * price * (1 + left) / 2 / HOURS_PER_YEAR


def _known(purchase: Purchase, ownership: Ownership | None, defaults: Defaults) -> _Known:
    capex, gpus, basis = _capex(purchase, ownership, defaults)
    life = purchase.life_years
    if life is None:
        life = LIFE_YEARS
        defaults.append(("life_years", life))
    capital = purchase.cost_of_capital
    if capital is None:
        capital = COST_OF_CAPITAL
        defaults.append(("cost_of_capital", capital))
    return _Known(
        capex=capex,
        gpus=gpus,
        residual=_residual(purchase, ownership, life, defaults),
        life_years=life,
        cost_of_capital=capital,
        kilowatts=_kilowatts(purchase, ownership, gpus, defaults),
        basis=basis if purchase.residual_share is not None else weakest(basis, Basis.EXTRAPOLATED),
    )


def _capex(purchase: Purchase, ownership: Ownership | None, defaults: Defaults) -> tuple[Interval, int, Basis]:
    if purchase.capex_usd is not None:
        return Interval(low=purchase.capex_usd, high=purchase.capex_usd), purchase.gpus or 1, Basis.EXACT
    if ownership is not None and ownership.node is not None and purchase.gpus in {None, ownership.node.gpus}:
        capex, gpus, basis = ownership.node.usd, ownership.node.gpus, Basis.EXTRAPOLATED
    elif ownership is not None and ownership.street_usd is not None:
        gpus = purchase.gpus or 1
        each, street, basis = gpus * NODE_OVER_CARDS, ownership.street_usd, Basis.RULE_OF_THUMB
        capex = Interval(low=street.low * each, high=street.high * each)
    else:
        raise refusal(FaultCode.PURCHASE_PRICE_UNKNOWN, "/capex_usd")
    defaults.append(("capex_usd", (capex.low + capex.high) / 2))
    return capex, gpus, basis


def _residual(purchase: Purchase, ownership: Ownership | None, life_years: float, defaults: Defaults) -> Interval:
    """What is left at the end: published after three years, and falling by the same share every year."""
    if purchase.residual_share is not None:
        return Interval(low=purchase.residual_share, high=purchase.residual_share)
    node = ownership.node if ownership is not None else None
    known = node.residual_share_after_36_months if node is not None else RESIDUAL_AFTER_THREE_YEARS
    power = life_years / LIFE_YEARS
    residual = Interval(low=known.low**power, high=known.high**power)
    defaults.append(("residual_share", (residual.low + residual.high) / 2))
    return residual


def _kilowatts(purchase: Purchase, ownership: Ownership | None, gpus: int, defaults: Defaults) -> float:
    if purchase.power_kw is not None:
        return purchase.power_kw
    if ownership is None:
        raise refusal(FaultCode.PURCHASE_POWER_UNKNOWN, "/power_kw")
    if ownership.node is not None and ownership.node.gpus == gpus:
        power = ownership.node.kilowatts
    else:
        power = ownership.tdp_watts * gpus * NODE_WATTS_OVER_TDP / _WATTS
    defaults.append(("power_kw", power))
    return power


def _running(
    purchase: Purchase, costs: OwnershipCosts, kilowatts: float, defaults: Defaults
) -> tuple[float, float, float]:
    """Power, hosting and staff of one machine, dollars an hour."""
    hosted = purchase.hosting_usd_per_kw_month
    hosting = kilowatts * hosted * MONTHS_PER_YEAR / HOURS_PER_YEAR if hosted is not None else 0.0
    staff = purchase.staff_usd_per_year / HOURS_PER_YEAR
    if hosted is not None and purchase.hosting_includes_power:
        return 0.0, hosting, staff
    pue, price = purchase.pue, purchase.usd_per_kwh
    if pue is None:
        pue = costs.pue_modern_site
        defaults.append(("pue", pue))
    if price is None:
        price = USD_PER_KWH
        defaults.append(("usd_per_kwh", price))
    return kilowatts * pue * price, hosting, staff


def _lead_time(purchase: Purchase, ownership: Ownership | None) -> float:
    if purchase.lead_time_weeks is not None:
        return purchase.lead_time_weeks
    known = ownership.lead_time if ownership is not None else None
    return (known.high_weeks or known.low_weeks or 0.0) if known is not None else 0.0
