"""Raw output of each benchmark tool becomes rates of work, labelled with its family."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cardmatch.engine.speed.reports.reading import read_report
from cardmatch.engine.speed.reports.report import Family, Report, Tool, throughput_of
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.fault import FaultCode, Invalid

DATA = Path(__file__).parent / "data"

# Rates as the files print them, or worked out by hand from what they print.
EXPECTED = [
    ("vllm_bench.json", Tool.VLLM_BENCH, Family.COMMUNITY, {"request": 1.98, "output_token": 594, "token": 2574}),
    ("vllm_bench.txt", Tool.VLLM_BENCH, Family.COMMUNITY, {"request": 1.98, "output_token": 594, "token": 2574}),
    ("sglang_bench.jsonl", Tool.SGLANG_BENCH, Family.COMMUNITY, {"request": 4, "output_token": 1024, "token": 5120}),
    ("sglang_bench.txt", Tool.SGLANG_BENCH, Family.COMMUNITY, {"request": 4, "output_token": 1024, "token": 5120}),
    ("llama_bench.json", Tool.LLAMA_BENCH, Family.COMMUNITY, {"output_token": 160}),
    ("llama_bench.md", Tool.LLAMA_BENCH, Family.COMMUNITY, {"output_token": 160}),
    # 4.44 × (200 + 103.7) tokens
    (
        "genai_perf.json",
        Tool.GENAI_PERF,
        Family.COMMUNITY,
        {"request": 4.44, "output_token": 460.42, "token": 1348.428},
    ),
    ("genai_perf.txt", Tool.GENAI_PERF, Family.COMMUNITY, {"request": 4.44, "output_token": 460.42, "token": 1348.428}),
    ("aiperf.json", Tool.AIPERF, Family.COMMUNITY, {"request": 0.8, "output_token": 51.2, "token": 256}),
    ("aiperf.csv", Tool.AIPERF, Family.COMMUNITY, {"request": 0.8, "output_token": 51.2, "token": 256}),
    ("mlperf_row.json", Tool.MLPERF, Family.STANDARD_SUITE, {"output_token": 24000}),
    ("mlperf_row.csv", Tool.MLPERF, Family.STANDARD_SUITE, {"sample": 36, "item": 36, "image": 36}),
    ("mlperf_log_summary.txt", Tool.MLPERF, Family.STANDARD_SUITE, {"sample": 4.5, "item": 4.5, "output_token": 1330}),
]


def _read(name: str, tool: Tool, prompt: float | None = None, output: float | None = None) -> Report:
    text = (DATA / name).read_text(encoding="utf-8")
    return read_report(tool, text, prompt_tokens=prompt, output_tokens=output)


@pytest.mark.parametrize(("name", "tool", "family", "rates"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_every_format_of_every_tool_is_read(name: str, tool: Tool, family: Family, rates: dict[str, float]) -> None:
    """What the file prints is what the report holds, and the benchmark's family is said."""
    report = _read(name, tool)
    assert report.family is family
    assert {rate.unit.value: rate.units_per_second for rate in report.rates} == pytest.approx(rates)


def test_requests_lengths_and_failures_are_kept() -> None:
    """198 requests with 198,000 prompt and 59,400 output tokens are 1,000 and 300 each; two failed."""
    report = _read("vllm_bench.json", Tool.VLLM_BENCH)
    assert (report.prompt_tokens, report.output_tokens, report.failed_requests) == (1000, 300, 2)
    assert report.model == "meta-llama/Llama-3.1-8B-Instruct"


def test_nodes_times_accelerators_are_what_a_suite_row_ran_on() -> None:
    """Two nodes of eight make sixteen GPUs."""
    assert _read("mlperf_row.csv", Tool.MLPERF).accelerators == 16
    assert _read("mlperf_row.json", Tool.MLPERF).accelerators == 8


@pytest.mark.parametrize("name", ["llama_bench.json", "llama_bench.md"])
def test_prefill_and_decode_make_one_request(name: str) -> None:
    """1,000 tokens at 10,000/s and 160 at 160/s (empty cache is nearer than 4,096 deep) take 0.1 + 1.0 s."""
    report = _read(name, Tool.LLAMA_BENCH, 1000, 160)
    requests = throughput_of(report, WorkUnit.REQUEST)
    tokens = throughput_of(report, WorkUnit.TOKEN)
    assert requests is not None
    assert tokens is not None
    assert requests.expected_units_per_second == pytest.approx(1 / 1.1)
    assert tokens.expected_units_per_second == pytest.approx(1160 / 1.1)
    assert tokens.low_units_per_second < tokens.expected_units_per_second < tokens.high_units_per_second


def test_the_test_with_the_cache_filled_most_alike_counts() -> None:
    """With 4,000 prompt tokens the test at depth 4,096 (125/s) is nearer than that of an empty cache (160/s)."""
    requests = throughput_of(_read("llama_bench.md", Tool.LLAMA_BENCH, 4000, 125), WorkUnit.REQUEST)
    assert requests is not None
    assert requests.expected_units_per_second == pytest.approx(1 / (4000 / 10000 + 1))


def test_repetitions_give_the_band() -> None:
    """160 ± 2 tokens/s: nine in ten lie within 1.645 standard deviations, 3.29 tokens/s."""
    decode = throughput_of(_read("llama_bench.md", Tool.LLAMA_BENCH), WorkUnit.OUTPUT_TOKEN)
    assert decode is not None
    assert decode.low_units_per_second == pytest.approx(156.71)
    assert decode.high_units_per_second == pytest.approx(163.29)


@pytest.mark.parametrize(("name", "tool"), [(row[0], row[1]) for row in EXPECTED])
def test_a_report_of_another_tool_is_refused_by_name(name: str, tool: Tool) -> None:
    """Whatever tool a text is wrongly said to be of, the fault points at the text and names the right one."""
    twins = {Tool.GENAI_PERF, Tool.AIPERF}
    for other in Tool:
        if other is tool or {other, tool} == twins:
            continue
        with pytest.raises(Invalid) as refused:
            _read(name, other)
        fault = refused.value.faults[0]
        assert (fault.code, fault.pointer) == (FaultCode.REPORT_OF_OTHER_TOOL, "/text")
        assert tool.value in fault.suggestions


@pytest.mark.parametrize("text", ["", "hello", "{}", "[]", "[[1]]", '{"request_throughput": {"avg": -1}}', "{" * 5000])
@pytest.mark.parametrize("tool", list(Tool))
def test_what_no_tool_prints_is_refused(tool: Tool, text: str) -> None:
    """Text without figures is refused with a pointer, whichever tool is named."""
    with pytest.raises(Invalid) as refused:
        read_report(tool, text, prompt_tokens=None, output_tokens=None)
    assert refused.value.faults[0].code is FaultCode.REPORT_NOT_READ


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000,
        "[" * 100_000 + "1" + "]" * 100_000,
        "[" * 900_000,
        "|" * 900_000,
        '"' + "x" * 900_000,
        "{\n" * 400_000,
        "\n" * 900_000,
    ],
    ids=lambda text: text[:3],
)
@pytest.mark.parametrize("tool", list(Tool))
def test_endless_text_is_refused_before_it_holds_anyone_up(tool: Tool, text: str) -> None:
    """Megabytes of brackets or blank lines are no report, and saying so takes less than a few requests would."""
    started = time.process_time()
    with pytest.raises(Invalid) as refused:
        read_report(tool, text, prompt_tokens=None, output_tokens=None)
    assert refused.value.faults[0].code is FaultCode.REPORT_NOT_READ
    assert time.process_time() - started < 0.5


def test_several_models_in_one_file_are_refused() -> None:
    """A table of two models does not say which of them is meant."""
    text = (DATA / "llama_bench.md").read_text(encoding="utf-8").replace("| llama 7B Q4_0  ", "| llama 13B Q4_0 ", 1)
    with pytest.raises(Invalid) as refused:
        read_report(Tool.LLAMA_BENCH, text, prompt_tokens=None, output_tokens=None)
    assert refused.value.faults[0].code is FaultCode.REPORT_OF_SEVERAL_RUNS


def test_an_invalid_suite_run_is_refused() -> None:
    """LoadGen calls a run INVALID that broke its rules; its figures are not used."""
    text = (DATA / "mlperf_log_summary.txt").read_text(encoding="utf-8").replace(": VALID", ": INVALID")
    with pytest.raises(Invalid):
        read_report(Tool.MLPERF, text, prompt_tokens=None, output_tokens=None)


@given(
    st.sampled_from([row[0] for row in EXPECTED]),
    st.sampled_from(list(Tool)),
    st.integers(0, 3000),
    st.text(max_size=9),
)
@settings(deadline=None)
def test_damaged_reports_are_read_or_refused(name: str, tool: Tool, at: int, noise: str) -> None:
    """A report cut or overwritten anywhere gives positive rates or an Invalid, never another exception."""
    text = (DATA / name).read_text(encoding="utf-8")
    damaged = text[:at] + noise + text[at + len(noise) :]
    try:
        report = read_report(tool, damaged, prompt_tokens=100, output_tokens=10)
    except Invalid:
        return
    assert report.rates
    assert all(rate.units_per_second > 0 for rate in report.rates)
