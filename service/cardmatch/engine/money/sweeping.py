"""The comparison again and again, with one parameter set to other values."""

from __future__ import annotations

import msgspec

from cardmatch.engine.money.answer import SweepFigures, SweepPoint
from cardmatch.engine.money.band import MOST_DOLLARS, dollars
from cardmatch.engine.money.bill import api_bill, bill
from cardmatch.engine.money.plan import ApiPlan, Plan
from cardmatch.engine.money.question import Sweep, SweepParameter
from cardmatch.engine.terms.fault import FaultCode, refusal

Plans = dict[str, Plan | ApiPlan]

# What each parameter may be. Zero of what is divided by has no answer; counts and rates end where requests do.
_BOUNDS = {
    SweepParameter.USD_PER_HOUR: (1e-6, 1e6),
    SweepParameter.UNITS_PER_SECOND: (1e-9, 1e12),
    SweepParameter.UNITS: (1e-6, 1e18),
    SweepParameter.UTILISATION: (1e-4, 1.0),
    SweepParameter.RUNS: (1.0, 1e6),
    SweepParameter.FAILED_SHARE: (0.0, 0.99),
    SweepParameter.IDLE_HOURS: (0.0, 1e6),
    SweepParameter.OUT_GB: (0.0, 1e9),
    SweepParameter.STORED_GB: (0.0, 1e9),
    SweepParameter.INTERRUPTIONS_PER_HOUR: (0.0, 60.0),
}
_OF_API = {SweepParameter.UNITS, SweepParameter.RUNS, SweepParameter.FAILED_SHARE}


def sweep(asked: Sweep, plans: Plans, *, follow: str | None = None) -> SweepFigures:
    """Totals and unit costs at every value; token APIs do what the option labelled *follow* gets done, if any.

    Raises Invalid: a value out of bounds, a label that is no option's, or a parameter that moves nothing.
    """
    low, high = _BOUNDS[asked.parameter]
    for position, value in enumerate(asked.values):
        if not low <= value <= high:
            where, bounds = f"/values/{position}", {"minimum": low, "maximum": high}
            raise refusal(FaultCode.SWEEP_OUT_OF_BOUNDS, where, field=asked.parameter.value, **bounds)
        if asked.parameter is SweepParameter.RUNS and value != int(value):
            raise refusal(FaultCode.NOT_A_MULTIPLE, f"/values/{position}", multiple=1)
    if asked.label is not None and asked.label not in plans:
        raise refusal(FaultCode.WRONG_VALUE, "/label", value=asked.label, known=list(plans))
    varied = [plan for label, plan in plans.items() if asked.label in {None, label}]
    if all(_with(plan, asked.parameter, asked.values[0]) is plan for plan in varied):
        raise refusal(FaultCode.SWEEP_WITHOUT_EFFECT, "/parameter", field=asked.parameter.value)
    points = [_point(asked, position, value, plans, follow) for position, value in enumerate(asked.values)]
    return SweepFigures(parameter=asked.parameter, points=tuple(points))


def _point(asked: Sweep, position: int, value: float, plans: Plans, follow: str | None) -> SweepPoint:
    totals, each = {}, {}
    moved = {
        label: _with(plan, asked.parameter, value) if asked.label in {None, label} else plan
        for label, plan in plans.items()
    }
    load = _total(moved[follow])[1] if follow is not None else None
    for label, plan in moved.items():
        done = _with(plan, SweepParameter.UNITS, load) if isinstance(plan, ApiPlan) and load is not None else plan
        total, units = _total(done)
        if total > MOST_DOLLARS:
            raise refusal(FaultCode.COST_OUT_OF_REACH, f"/values/{position}")
        totals[label], each[label] = dollars(total), total / units
    return SweepPoint(value=value, total_usd=totals, usd_per_unit=each, cheapest=min(each, key=each.__getitem__))


def _with(plan: Plan | ApiPlan, parameter: SweepParameter, value: float) -> Plan | ApiPlan:
    if isinstance(plan, ApiPlan):
        if parameter not in _OF_API:
            return plan
        if parameter is SweepParameter.UNITS:
            return msgspec.structs.replace(plan, units=value, requests=plan.requests / plan.units * value)
        return msgspec.structs.replace(plan, **{parameter.value: value})
    if parameter is SweepParameter.USD_PER_HOUR and plan.owned:
        return plan
    if parameter is SweepParameter.INTERRUPTIONS_PER_HOUR:
        if plan.spot is None:
            return plan
        return msgspec.structs.replace(plan, spot=msgspec.structs.replace(plan.spot, interruptions_per_hour=value))
    if parameter is SweepParameter.UTILISATION and plan.service:
        return msgspec.structs.replace(plan, utilisation=value, units=0.0)
    return msgspec.structs.replace(plan, **{parameter.value: value})


def _total(plan: Plan | ApiPlan) -> tuple[float, float]:
    if isinstance(plan, ApiPlan):
        return sum(api_bill(plan)), plan.units * plan.runs
    paid = bill(plan)
    return paid.total_usd, paid.hours.units
