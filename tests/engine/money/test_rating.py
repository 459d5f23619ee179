"""Throughputs: measured, reported, predicted, and in the unit of the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cardmatch.engine.money.option import Option, Predicted
from cardmatch.engine.money.rating import Forecast
from cardmatch.engine.speed.throughput import Throughput, WorkUnit, exactly
from cardmatch.engine.terms.band import Basis
from tests.engine.money.asking import ask, option, refused

REPORTS = Path(__file__).parents[1] / "speed" / "reports" / "data"
REQUEST = {"prompt_tokens": 1000, "output_tokens": 300}


def _work(unit: str = "token", **lengths: int) -> dict[str, Any]:
    return {"kind": "job", "unit": unit, "units": 1e6} | lengths


def _report(name: str, tool: str) -> dict[str, Any]:
    return {"kind": "report", "tool": tool, "text": (REPORTS / name).read_text(encoding="utf-8")}


def _body(throughput: dict[str, Any] | None, work: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"options": [option() | {"throughput": throughput} | fields], "work": work}


def test_a_report_is_used_in_the_unit_of_the_work() -> None:
    """2,574 tokens, 594 output tokens or 1.98 requests a second are the same run."""
    throughput = _report("vllm_bench.json", "vllm_bench")
    for unit, rate in (("token", 2574), ("output_token", 594), ("request", 1.98)):
        used = ask(_body(throughput, _work(unit, **REQUEST))).options[0].rate
        assert used is not None
        assert used.throughput.expected_units_per_second == pytest.approx(rate)
        assert (used.tool, used.family) == ("vllm_bench", "community")


def test_failures_and_other_lengths_are_said() -> None:
    """Two requests of the benchmark failed, and it ran 1,000 and 300 tokens where the work has 4,000 and 100."""
    work = _work(prompt_tokens=4000, output_tokens=100)
    notices = ask(_body(_report("vllm_bench.json", "vllm_bench"), work)).options[0].notices
    assert [notice.code.value for notice in notices] == ["report_with_failures", "report_of_other_lengths"]


def test_a_suite_row_of_eight_gpus_is_scaled_to_one() -> None:
    """24,000 tokens/s of eight GPUs are 3,000 of one, which is said."""
    costed = ask(_body(_report("mlperf_row.json", "mlperf"), _work("output_token"))).options[0]
    assert costed.rate is not None
    assert costed.rate.family == "standard_suite"
    assert costed.rate.throughput.expected_units_per_second == pytest.approx(3000)
    assert [notice.code.value for notice in costed.notices] == ["report_scaled"]


def test_the_spread_of_a_report_is_the_band_of_the_cost() -> None:
    """160 ± 3.29 tokens/s: a million tokens cost 1.736 dollars, 2 % more or less."""
    costed = ask(_body(_report("llama_bench.md", "llama_bench"), _work("output_token"))).options[0]
    assert costed.total.expected_usd == pytest.approx(1e6 / 160 / 3600, rel=1e-3)
    assert costed.total.high_usd == pytest.approx(1e6 / 156.71 / 3600, rel=1e-3)
    assert costed.total.low_usd == pytest.approx(1e6 / 163.29 / 3600, rel=1e-3)


@pytest.mark.parametrize(
    ("throughput", "unit", "pointer", "code"),
    [
        ({"kind": "measured", "units_per_second": 1, "unit": "image"}, "token", "/unit", "unit_of_other_work"),
        ({"kind": "measured", "units_per_second": 1, "unit": "output_token"}, "token", "/unit", "unit_of_other_work"),
        (_report("vllm_bench.json", "vllm_bench"), "image", "/text", "report_lacks_unit"),
        (_report("vllm_bench.json", "sglang_bench"), "token", "/text", "report_of_other_tool"),
        ({"kind": "predicted", "model": "llama-3.1-8b"}, "token", "/kind", "throughput_not_predicted"),
        (None, "token", "", "throughput_missing"),
    ],
)
def test_what_says_nothing_of_the_work_is_refused(
    throughput: dict[str, Any] | None, unit: str, pointer: str, code: str
) -> None:
    """Another unit, another tool, or nothing at all: with a pointer to it."""
    fault = refused(_body(throughput, _work(unit)))
    assert (fault.pointer, fault.code.value) == (f"/options/0/throughput{pointer}", code)


def _predict(low: float, expected: float, high: float) -> Any:
    def predict(_option: Option, _count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
        assert asked.model == "llama-3.1-8b"
        rate = Throughput(
            unit=unit,
            low_units_per_second=low,
            expected_units_per_second=expected,
            high_units_per_second=high,
            basis=Basis.CALIBRATED,
        )
        return Forecast(throughput=rate, assumed=(("/workload/engine", "vllm"),))

    return predict


PREDICTED = {"kind": "predicted", "model": "llama-3.1-8b"}


def test_a_prediction_gives_the_band_of_the_cost() -> None:
    """One to four units a second around two: a quarter to a whole hour around half of one."""
    body = _body(PREDICTED, {"kind": "job", "unit": "item", "units": 3600})
    costed = ask(body, predict=_predict(1, 2, 4)).options[0]
    assert (costed.total.low_usd, costed.total.expected_usd, costed.total.high_usd) == pytest.approx((0.25, 0.5, 1))
    assert costed.total.basis is Basis.CALIBRATED


def test_a_measurement_beats_a_prediction_and_is_compared_with_it() -> None:
    """Ten units a second count although four were the most expected, and the answer says so."""
    measured = {"kind": "measured", "units_per_second": 10, "prediction": PREDICTED}
    body = _body(measured, _work("item"))
    outside = ask(body, predict=_predict(1, 2, 4)).options[0]
    inside = ask(body, predict=_predict(8, 9, 11)).options[0]
    assert outside.rate is not None
    assert outside.rate.throughput.expected_units_per_second == 10
    assert outside.rate.predicted is not None
    assert [notice.code.value for notice in outside.notices] == ["measured_outside_prediction"]
    assert inside.notices == ()


def test_what_a_prediction_assumed_is_echoed_where_it_belongs() -> None:
    """Below the throughput where it is the rate, below its prediction where a measurement is."""
    measured = {"kind": "measured", "units_per_second": 10, "prediction": PREDICTED}
    for throughput, pointer in ((PREDICTED, ""), (measured, "/prediction")):
        figures = ask(_body(throughput, _work("item")), predict=_predict(1, 2, 4))
        said = {each.pointer: each.value for each in figures.assumptions}
        assert said[f"/options/0/throughput{pointer}/workload/engine"] == "vllm"


def test_a_server_that_was_not_kept_busy_may_do_more() -> None:
    """At two requests a second offered and 1.98 answered, the rate is the benchmark's, not the machine's."""
    text = (REPORTS / "vllm_bench.json").read_text(encoding="utf-8")
    for offered, codes in ((2, ["report_with_failures", "report_not_saturated"]), (8, ["report_with_failures"])):
        sent = text.replace('"request_rate": "inf"', f'"request_rate": {offered}')
        throughput = {"kind": "report", "tool": "vllm_bench", "text": sent}
        notices = ask(_body(throughput, _work())).options[0].notices
        assert [notice.code.value for notice in notices] == codes


@pytest.mark.parametrize("name", ["sglang_bench.jsonl", "sglang_bench.txt"])
def test_of_several_runs_the_last_counts_and_is_said_to(name: str) -> None:
    """Benchmarks append: the file has a run at 16 and one at 64 requests at once."""
    text = (REPORTS / name).read_text(encoding="utf-8")
    twice = text if name.endswith("jsonl") else text.replace("4.00 ", "1.33 ") + text
    throughput = {"kind": "report", "tool": "sglang_bench", "text": twice}
    costed = ask(_body(throughput, _work("request"))).options[0]
    assert costed.rate is not None
    assert costed.rate.throughput.expected_units_per_second == pytest.approx(4)
    assert [(notice.code.value, notice.params["runs"]) for notice in costed.notices] == [("report_of_last_run", 2)]


@pytest.mark.parametrize(
    ("name", "tool", "workload", "at_once"),
    [
        ("vllm_bench.json", "vllm_bench", {}, 32),
        ("vllm_bench.txt", "vllm_bench", {}, 32),
        ("sglang_bench.txt", "sglang_bench", {}, 64),
        ("llama_bench.md", "llama_bench", {}, 1),
        ("aiperf.csv", "aiperf", {}, None),
        ("vllm_bench.json", "vllm_bench", {"concurrency": 8}, 8),
        ("vllm_bench.json", "vllm_bench", {"kind": "encode"}, None),
    ],
)
def test_like_is_compared_with_like(name: str, tool: str, workload: dict[str, Any], at_once: int | None) -> None:
    """A benchmark of 32 requests at once is held against the prediction for 32, unless the caller says otherwise."""
    seen = []

    def predict(_option: Option, _count: int, asked: Predicted, unit: WorkUnit) -> Forecast:
        seen.append(asked.workload.get("concurrency"))
        return Forecast(throughput=exactly(unit, 1))

    throughput = _report(name, tool) | {"prediction": PREDICTED | {"workload": workload}}
    ask(_body(throughput, _work("output_token")), predict=predict)
    assert seen == [at_once]
