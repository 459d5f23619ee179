"""Options of a comparison as people type them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cardmatch.cli.options import currency, option, sweep


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "4090=0.69@1000",
            {
                "label": "4090",
                "price": {"kind": "caller", "usd_per_hour": 0.69},
                "throughput": {"kind": "measured", "units_per_second": 1000},
            },
        ),
        (
            "two = 2x l40s:1,6 @ 2.5k",
            {
                "label": "two",
                "card": "l40s",
                "count": 2,
                "price": {"kind": "caller", "usd_per_hour": 1.6},
                "throughput": {"kind": "measured", "units_per_second": 2500},
            },
        ),
        (
            "xl=rtx-4090:0.35@model:sdxl",
            {
                "label": "xl",
                "card": "rtx-4090",
                "count": 1,
                "price": {"kind": "caller", "usd_per_hour": 0.35},
                "throughput": {"kind": "predicted", "model": "sdxl"},
            },
        ),
        ("box=acme/box/any/standard", {"label": "box", "price": {"kind": "offer", "offer": "acme/box/any/standard"}}),
        (
            "own=buy:8x h100-sxm-80",
            {"label": "own", "card": "h100-sxm-80", "count": 8, "price": {"kind": "purchase"}},
        ),
        (
            "api=api:0.2/0.6",
            {
                "label": "api",
                "price": {"kind": "token_api", "usd_per_million_input": 0.2, "usd_per_million_output": 0.6},
            },
        ),
    ],
)
def test_shorthand_means_what_the_wire_says(text: str, meant: dict[str, Any]) -> None:
    """Prices, cards, offers, purchases and APIs, with their speed."""
    assert option(text) == meant


def test_a_report_is_read_from_its_file(tmp_path: Path) -> None:
    """The speed may be the output of a benchmark."""
    (tmp_path / "out.txt").write_text("figures", encoding="utf-8")
    assert option(f"a=1@vllm_bench:{tmp_path / 'out.txt'}")["throughput"] == {
        "kind": "report",
        "tool": "vllm_bench",
        "text": "figures",
    }


@pytest.mark.parametrize("text", ["", "a", "a=", "a=cheap@1", "a=1@fast", "api=api:1"])
def test_what_is_no_option_is_refused(text: str) -> None:
    """ValueError, which argparse turns into a usage message."""
    with pytest.raises(ValueError):
        option(text)


def test_sweeps_and_currencies_are_typed_as_pairs() -> None:
    """A parameter and its values, a currency and its rate; a pair without its second half is refused."""
    assert sweep("usd_per_hour = 1, 2.5,4") == {"parameter": "usd_per_hour", "values": [1, 2.5, 4]}
    assert currency("EUR=1.16") == {"code": "EUR", "usd": 1.16}
    for read in (sweep, currency):
        with pytest.raises(ValueError, match="EUR"):
            read("EUR")
