"""`vllm bench serve` and `sglang.bench_serving`: two tools of one descent, told apart by what else they print.

Fields as in vLLM `vllm/benchmarks/serve.py` (0.11) and SGLang `python/sglang/bench_serving.py` (0.5): SGLang also
prints the input token rate, vLLM does not.
"""

from __future__ import annotations

from typing import Any

from cardmatch.engine.speed.reports.report import Family, Report, Tool, Unreadable, number, rates_of, ratio
from cardmatch.engine.speed.reports.text import documents, labels
from cardmatch.engine.speed.throughput import WorkUnit

_BANNER = "serving benchmark result"
# Label of the printed summary → field of the JSON result.
_PRINTED = {
    "request throughput (req/s)": "request_throughput",
    "output token throughput (tok/s)": "output_throughput",
    "input token throughput (tok/s)": "input_throughput",
    "total token throughput (tok/s)": "total_token_throughput",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "successful requests": "completed",
    "failed requests": "failed",
    "traffic request rate": "request_rate",
    "request rate configured (rps)": "request_rate",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
}


def read_vllm(text: str) -> Report:
    """The JSON file of `--save-result` or the printed summary. Raises Unreadable for anything else."""
    fields, runs = _fields(text)
    if "input_throughput" in fields or "total_token_throughput" not in fields:
        raise Unreadable
    return _report(Tool.VLLM_BENCH, fields, runs)


def read_sglang(text: str) -> Report:
    """The last line of `--output-file` or the printed summary. Raises Unreadable for anything else."""
    fields, runs = _fields(text)
    if "input_throughput" not in fields:
        raise Unreadable
    return _report(Tool.SGLANG_BENCH, fields, runs)


def _fields(text: str) -> tuple[dict[str, Any], int]:
    """Figures of the last run, and how many there are: both tools append to what is there."""
    runs = [row for row in documents(text) if "request_throughput" in row and "output_throughput" in row]
    if runs:
        return runs[-1], len(runs)
    before, *printed_runs = text.lower().split(_BANNER)
    if not printed_runs:
        raise Unreadable
    printed = labels(before) | labels(printed_runs[-1])
    return {field: printed[label] for label, field in _PRINTED.items() if label in printed}, len(printed_runs)


def _report(tool: Tool, fields: dict[str, Any], runs: int) -> Report:
    output = number(fields.get("output_throughput"))
    inputs = number(fields.get("input_throughput"))
    total = number(fields.get("total_token_throughput"))
    if total is None and output is not None and inputs is not None:
        total = output + inputs
    completed = number(fields.get("completed"))
    model = fields.get("model_id") or fields.get("model")
    return Report(
        tool=tool,
        family=Family.COMMUNITY,
        model=model if isinstance(model, str) else None,
        rates=rates_of(
            {
                WorkUnit.REQUEST: number(fields.get("request_throughput")),
                WorkUnit.OUTPUT_TOKEN: output,
                WorkUnit.TOKEN: total,
            }
        ),
        prompt_tokens=ratio(number(fields.get("total_input_tokens")), completed),
        output_tokens=ratio(number(fields.get("total_output_tokens")), completed),
        failed_requests=int(number(fields.get("failed")) or 0),
        requests_per_second=number(fields.get("request_rate")),
        concurrency=_at_once(fields),
        runs=runs,
    )


def _at_once(fields: dict[str, Any]) -> int | None:
    """The cap on requests in flight, where there was one."""
    limit = number(fields.get("max_concurrency"))
    return int(limit) if limit is not None and limit >= 1 else None
