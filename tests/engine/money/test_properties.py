"""What holds for every bill: lines add up, more costs more, units cancel."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cardmatch.engine.money.answer import CostFigures, OptionCost
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Invalid
from tests.engine.money.asking import ask, only, option

CENT = 0.01
PRICE = st.floats(0.01, 500)
RATE = st.floats(0.01, 1e5)
INCREMENT = st.sampled_from([1, 60, 3600, 2_628_000])

CHARGES = st.fixed_dictionaries(
    {"billing_increment_seconds": INCREMENT, "egress_usd_per_gb": st.floats(0, 1), "tax_share": st.floats(0, 0.3)},
    optional={
        "setup_usd": st.floats(0, 500),
        "ingress_usd_per_gb": st.floats(0, 0.1),
        "storage_usd_per_gb_month": st.floats(0, 0.3),
        "public_ip_usd_per_hour": st.floats(0, 0.02),
        "prepaid": st.booleans(),
        "min_top_up_usd": st.floats(0, 50),
        "included_egress_gb": st.floats(0, 1000),
    },
)
DATA = st.fixed_dictionaries(
    {},
    optional={
        "in_gb": st.floats(0, 1e4),
        "out_gb": st.floats(0, 1e4),
        "stored_gb": st.floats(0, 1e4),
        "stopped_hours": st.floats(0, 1000),
    },
)
JOB = st.fixed_dictionaries(
    {"kind": st.just("job"), "unit": st.just("item"), "units": st.floats(1, 1e8)},
    optional={"utilisation": st.floats(0.05, 1), "idle_hours": st.floats(0, 100)},
)
SERVICE = st.fixed_dictionaries(
    {"kind": st.just("service"), "unit": st.just("item"), "utilisation": st.floats(0.05, 1)},
    optional={"keep_warm": st.booleans(), "hours": st.floats(1, 730)},
)
QUESTION = st.builds(
    lambda price, rate, charges, data, work, startup: {
        "options": [option(price, rate, charges=charges, startup={"boot_seconds": startup})],
        "work": work,
        "data": {name: size for name, size in data.items() if name != "stopped_hours" or work["kind"] == "job"},
    },
    PRICE,
    RATE,
    CHARGES,
    DATA,
    JOB | SERVICE,
    st.floats(0, 3600),
)


def _costed(body: dict[str, Any]) -> OptionCost:
    return only(ask(body))


@given(QUESTION)
@settings(max_examples=200, deadline=None)
def test_lines_add_up_to_the_cent(body: dict[str, Any]) -> None:
    """What is listed is what is paid, within a cent, and inside the band."""
    costed = _costed(body)
    total = costed.total
    assert sum(line.usd for line in costed.lines) == pytest.approx(total.expected_usd, abs=CENT)
    assert total.low_usd <= total.expected_usd <= total.high_usd
    assert all(line.usd >= 0 for line in costed.lines)
    assert total.basis is not Basis.EXACT or total.low_usd == total.high_usd


@given(QUESTION, st.floats(1, 10))
@settings(deadline=None)
def test_a_dearer_hour_never_costs_less(body: dict[str, Any], factor: float) -> None:
    """Monotone in the price."""
    cheap = _costed(body).total.expected_usd
    price = body["options"][0]["price"]["usd_per_hour"] * factor
    dear = body | {"options": [body["options"][0] | {"price": {"kind": "caller", "usd_per_hour": price}}]}
    assert _costed(dear).total.expected_usd >= cheap - CENT


@given(QUESTION, st.floats(0, 1e4))
@settings(deadline=None)
def test_more_traffic_never_costs_less(body: dict[str, Any], more: float) -> None:
    """Monotone in egress."""
    data = body["data"] | {"out_gb": body["data"].get("out_gb", 0.0) + more}
    assert _costed(body | {"data": data}).total.expected_usd >= _costed(body).total.expected_usd - CENT


@given(QUESTION, st.floats(1, 10))
@settings(deadline=None)
def test_slower_work_never_costs_less(body: dict[str, Any], factor: float) -> None:
    """Monotone in hours: the same units at a lower rate."""
    slower = body["options"][0] | {
        "throughput": {
            "kind": "measured",
            "units_per_second": body["options"][0]["throughput"]["units_per_second"] / factor,
        }
    }
    fast, slow = _costed(body), _costed(body | {"options": [slower]})
    assert slow.usd_per_unit >= fast.usd_per_unit * (1 - 1e-6)


@given(QUESTION, st.floats(0.001, 1000))
@settings(deadline=None)
def test_units_cancel(body: dict[str, Any], size: float) -> None:
    """Counting the same work in units of another size changes no dollar."""
    counted = body["options"][0]
    rate = counted["throughput"]["units_per_second"] * size
    work = dict(body["work"])
    if "units" in work:
        work["units"] = work["units"] * size
    resized = {"options": [counted | {"throughput": {"kind": "measured", "units_per_second": rate}}], "work": work}
    before, after = _costed(body), _costed(body | resized)
    assert after.total.expected_usd == pytest.approx(before.total.expected_usd, rel=1e-6, abs=CENT)
    assert after.usd_per_unit * size == pytest.approx(before.usd_per_unit, rel=1e-6)


@given(QUESTION)
@settings(deadline=None)
def test_the_same_question_has_the_same_answer(body: dict[str, Any]) -> None:
    """Nothing is drawn, timed or remembered."""
    assert ask(body) == ask(body)


# Whatever the request's own bounds let in, at its ends and anywhere between.
SPOT = st.fixed_dictionaries(
    {
        "interruptions_per_hour": st.sampled_from([0, 1e-300, 1e-6, 60]),
        "checkpoint_seconds": st.sampled_from([0, 1e-300, 86_400]),
        "restart_seconds": st.sampled_from([0, 1e-300, 86_400]),
    },
    optional={"checkpoint_interval_seconds": st.sampled_from([1, 1e7])},
)
HOURLY = st.fixed_dictionaries(
    {"kind": st.just("caller"), "usd_per_hour": st.sampled_from([1e-6, 1, 1e6])},
    optional={"spot_usd_per_hour": st.sampled_from([1e-6, 1e6])},
)
BOUGHT = st.fixed_dictionaries(
    {"kind": st.just("purchase"), "capex_usd": st.sampled_from([1, 1e9]), "power_kw": st.sampled_from([0, 1e4])},
    optional={"life_years": st.sampled_from([0.25, 15]), "gpus": st.sampled_from([1, 1024])},
)
TOKENS = st.fixed_dictionaries(
    {
        "kind": st.just("token_api"),
        "usd_per_million_input": st.sampled_from([0, 1e-300, 1e6]),
        "usd_per_million_output": st.sampled_from([0, 1e-300, 1e6]),
    }
)
LENGTHS = {"prompt_tokens": st.sampled_from([1, 10**9]), "output_tokens": st.sampled_from([1, 10**9])}
EXTREME_WORK = st.fixed_dictionaries(
    {"kind": st.just("job"), "unit": st.just("token"), "units": st.sampled_from([1e-6, 1, 1e18]), **LENGTHS},
    optional={"utilisation": st.sampled_from([1e-4, 1]), "idle_hours": st.sampled_from([0, 1e6])},
) | st.fixed_dictionaries(
    {"kind": st.just("service"), "unit": st.just("token"), "units_per_month": st.sampled_from([1e-6, 1e18]), **LENGTHS},
    optional={"keep_warm": st.booleans(), "hours": st.sampled_from([0.01, 744])},
)
EXTREME = st.builds(
    lambda price, rate, count, spot, work, rent, api: {
        "options": [
            option(1, rate, price=price, count=count, spot=spot, rent=rent, reserved={"usd_per_hour": 1}),
            {"label": "api", "price": api},
        ],
        "work": work,
        "data": {"in_gb": 1e9, "out_gb": 1e9, "stored_gb": 1e9},
        "purchase": {"capex_usd": 1e9, "power_kw": 0},
        "sweep": {"parameter": "usd_per_hour", "values": [1e-6, 1e6]},
    },
    HOURLY | BOUGHT,
    st.sampled_from([1e-9, 1, 1e12]),
    st.sampled_from([1, 65_536]),
    SPOT,
    EXTREME_WORK,
    st.sampled_from(["on_demand", "spot", "reserved"]),
    TOKENS,
)


@given(EXTREME)
@settings(max_examples=300, deadline=None)
def test_every_answer_stays_within_its_own_bounds(body: dict[str, Any]) -> None:
    """What a request may ask is answered in numbers that the wire allows, or refused."""
    try:
        figures = ask(body)
    except Invalid:
        return
    msgspec.json.decode(msgspec.json.encode(figures), type=CostFigures)


@given(QUESTION)
@settings(max_examples=100, deadline=None)
def test_what_hourly_billing_would_add_is_what_it_adds(body: dict[str, Any]) -> None:
    """The upper end of the range of an unknown increment is the bill by the hour."""
    single = body["options"][0]
    charges = {name: value for name, value in single["charges"].items() if name != "billing_increment_seconds"}
    unknown = _costed(body | {"options": [single | {"charges": charges}]})
    hourly = _costed(body | {"options": [single | {"charges": charges | {"billing_increment_seconds": 3600}}]})
    others = unknown.total.high_usd - hourly.total.expected_usd
    if not body["data"].get("stored_gb") or "storage_usd_per_gb_month" in charges:
        assert others == pytest.approx(0, abs=1e-3 * max(1.0, hourly.total.expected_usd))
    else:
        assert others >= -1e-3 * max(1.0, hourly.total.expected_usd)
