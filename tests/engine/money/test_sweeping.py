"""Sweeps: one parameter, up to fifty values, the whole comparison at each."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.money.answer import SweepFigures
from tests.engine.money.asking import ask, job, option, refused

API = {"label": "api", "price": {"kind": "token_api", "usd_per_million_input": 0, "usd_per_million_output": 1}}


def _sweep(parameter: str, values: list[float], **fields: Any) -> SweepFigures:
    body = {"options": [option(1, label="a"), option(2, 3, label="b")], "work": job()} | fields
    swept = ask(body | {"sweep": {"parameter": parameter, "values": values} | fields.get("sweep", {})}).sweep
    assert swept is not None
    return swept


def test_every_point_is_the_whole_comparison() -> None:
    """The slow card is cheaper until the fast one's hour costs three times as much."""
    swept = _sweep("usd_per_hour", [1, 2, 4], sweep={"label": "b"})
    assert [point.total_usd["b"] for point in swept.points] == pytest.approx([1 / 3, 2 / 3, 4 / 3], abs=1e-6)
    assert [point.total_usd["a"] for point in swept.points] == [1, 1, 1]
    assert [point.cheapest for point in swept.points] == ["b", "b", "a"]


@pytest.mark.parametrize(
    ("parameter", "value", "usd"),
    [
        ("usd_per_hour", 5, 5),
        ("units_per_second", 2, 0.5),
        ("units", 7200, 2),
        ("utilisation", 0.5, 2),
        ("runs", 3, 3),
        ("failed_share", 0.5, 2),
        ("idle_hours", 4, 5),
        ("out_gb", 10, 2),
        ("stored_gb", 730, 1.1),
    ],
)
def test_every_parameter_moves_the_cost_as_on_paper(parameter: str, value: float, usd: float) -> None:
    """One hour at one dollar, traffic at ten cents a GB and storage at ten cents a GB and month."""
    charges = {"billing_increment_seconds": 1, "egress_usd_per_gb": 0.1, "storage_usd_per_gb_month": 0.1}
    body = {"options": [option(charges=charges)], "work": job(), "sweep": {"parameter": parameter, "values": [value]}}
    swept = ask(body).sweep
    assert swept is not None
    assert swept.points[0].total_usd["a"] == pytest.approx(usd)


def test_interruptions_move_spot_only() -> None:
    """What is rented at will does not care."""
    spot = {"interruptions_per_hour": 0.1, "checkpoint_seconds": 60, "restart_seconds": 300}
    price = {"kind": "caller", "usd_per_hour": 3.0, "spot_usd_per_hour": 1.0}
    interruptible = option(price=price, rent="spot", spot=spot, label="b")
    body = {"options": [option(label="a"), interruptible], "work": job()}
    swept = ask(body | {"sweep": {"parameter": "interruptions_per_hour", "values": [0, 1]}}).sweep
    assert swept is not None
    never, often = swept.points
    assert never.total_usd["a"] == often.total_usd["a"]
    assert never.total_usd["b"] == pytest.approx(1)
    assert often.total_usd["b"] > 1


def test_a_token_api_follows_the_amount_of_work() -> None:
    """A million output tokens for a dollar, two for two; a higher hourly rate does not touch it."""
    work = {"kind": "job", "unit": "output_token", "units": 1e6, "prompt_tokens": 1, "output_tokens": 1}
    for parameter, expected in (("units", [1, 2]), ("usd_per_hour", [1, 1])):
        values = [1e6, 2e6] if parameter == "units" else [1, 2]
        sweep = {"parameter": parameter, "values": values}
        swept = ask({"options": [API, option()], "work": work, "sweep": sweep}).sweep
        assert swept is not None
        assert [point.total_usd["api"] for point in swept.points] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sweep", "pointer", "code"),
    [
        ({"parameter": "utilisation", "values": [0.5, 1.5]}, "/sweep/values/1", "sweep_out_of_bounds"),
        ({"parameter": "units_per_second", "values": [0]}, "/sweep/values/0", "sweep_out_of_bounds"),
        ({"parameter": "units", "values": [1], "label": "nobody"}, "/sweep/label", "wrong_value"),
    ],
)
def test_values_that_have_no_answer_are_refused(sweep: dict[str, Any], pointer: str, code: str) -> None:
    """Out of bounds, or of an option that is not there."""
    fault = refused({"options": [option()], "work": job(), "sweep": sweep})
    assert (fault.pointer, fault.code.value) == (pointer, code)


def test_an_api_follows_what_the_machines_get_done() -> None:
    """A machine at full use writes 2.628 million tokens a month; an API for a dollar a million costs as many."""
    work = {"kind": "service", "unit": "output_token", "utilisation": 0.5, "prompt_tokens": 1, "output_tokens": 1}
    body = {"options": [option(), API], "work": work}
    swept = ask(body | {"sweep": {"parameter": "utilisation", "values": [0.1, 1]}}).sweep
    assert swept is not None
    assert [point.total_usd["api"] for point in swept.points] == pytest.approx([0.2628, 2.628])
    assert [point.usd_per_unit["api"] for point in swept.points] == pytest.approx([1e-6, 1e-6])


@pytest.mark.parametrize(
    ("sweep", "pointer", "code"),
    [
        ({"parameter": "interruptions_per_hour", "values": [0, 1]}, "/sweep/parameter", "sweep_without_effect"),
        ({"parameter": "usd_per_hour", "values": [1], "label": "api"}, "/sweep/parameter", "sweep_without_effect"),
        ({"parameter": "runs", "values": [1, 1.5]}, "/sweep/values/1", "not_a_multiple"),
    ],
)
def test_a_sweep_that_moves_nothing_is_refused(sweep: dict[str, Any], pointer: str, code: str) -> None:
    """Interruptions of what is rented at will, the hour of an API, one and a half runs."""
    work = {"kind": "job", "unit": "output_token", "units": 1e6, "prompt_tokens": 1, "output_tokens": 1}
    fault = refused({"options": [option(), API], "work": work, "sweep": sweep})
    assert (fault.pointer, fault.code.value) == (pointer, code)


@pytest.mark.parametrize(
    ("parameter", "code"), [("out_gb", "egress_price_unknown"), ("stored_gb", "storage_price_unknown")]
)
def test_a_sweep_over_data_without_a_price_says_so(parameter: str, code: str) -> None:
    """A flat line would look like free traffic."""
    body = {"options": [option()], "work": job(), "sweep": {"parameter": parameter, "values": [0, 500]}}
    (found,) = ask(body).options[0].notices
    assert (found.code.value, found.params["data_gb"]) == (code, 500)


def test_the_rent_at_which_owning_is_cheaper() -> None:
    """An owned node at 1.54 dollars a GPU and hour stays where it is while the rent moves past it."""
    own = {
        "label": "own",
        "card": "h100-sxm-80",
        "price": {"kind": "purchase", "utilisation": 1},
        "throughput": {"kind": "measured", "units_per_second": 1},
    }
    body = {"options": [option(label="rent", count=8), own], "work": job()}
    swept = ask(body | {"sweep": {"parameter": "usd_per_hour", "values": [8, 12, 16]}}).sweep
    assert swept is not None
    assert [point.total_usd["own"] for point in swept.points] == pytest.approx([8 * 1.5365] * 3, rel=1e-3)
    assert [point.cheapest for point in swept.points] == ["rent", "rent", "own"]
