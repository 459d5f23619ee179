"""Bad questions about cost are answered 422, with a pointer to what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.money.work import WORK
from cardmatch.http.door import Door
from tests.http.asking import post

OPTION: dict[str, Any] = {
    "label": "a",
    "price": {"kind": "caller", "usd_per_hour": 1},
    "throughput": {"kind": "measured", "units_per_second": 1},
}
PREDICTED = {"kind": "predicted", "model": "7B"}
JOB = {"kind": "job", "unit": "token", "units": 1}


def _option(**fields: Any) -> dict[str, Any]:
    return {"options": [OPTION | fields], "work": JOB}


def _measured(**fields: Any) -> dict[str, Any]:
    return _option(throughput={"kind": "measured", **fields})


def _service(utilisation: float) -> dict[str, Any]:
    return {"options": [OPTION], "work": {"kind": "service", "unit": "token", "utilisation": utilisation}}


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (_measured(units_per_second=0), "/options/0/throughput/units_per_second", "not_above"),
        (_measured(units_per_second=-5), "/options/0/throughput/units_per_second", "not_above"),
        (_measured(units_per_second=1, unit="image"), "/options/0/throughput/unit", "unit_of_other_work"),
        (_service(0), f"{WORK}/utilisation", "not_above"),
        (_service(1.01), f"{WORK}/utilisation", "too_large"),
        (
            _option(price={"kind": "offer", "offer": "digitalocean/gpu-h100x1-80gb/any/standard"}),
            "/options/0/price/offer",
            "offer_expired",
        ),
        (
            _option(throughput={"kind": "report", "tool": "llama_bench", "text": "Request throughput (req/s): 1"}),
            "/options/0/throughput/text",
            "report_not_read",
        ),
        (_option(price={"kind": "caller", "usd_per_hour": 0}), "/options/0/price/usd_per_hour", "not_above"),
        (
            _option(throughput={"kind": "predicted", "model": "7B"}),
            WORK,
            "request_lengths_missing",
        ),
        ({"options": [], "work": JOB}, "/options", "too_few_items"),
        (_option(price={"kind": "free"}), "/options/0/price/kind", "wrong_value"),
    ],
)
def test_bad_questions_are_refused_with_their_place(
    service: Door, body: dict[str, Any], pointer: str, code: str
) -> None:
    """Zero and negative rates, impossible shares, expired offers, other units, other tools."""
    response = post(service, body, path="/cost")
    assert response.status == 422
    (error,) = response.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)
    assert error["detail"]
