"""NVIDIA GenAI-Perf and its successor AIPerf: the JSON export, the CSV export or the printed table.

Fields as in `profile_export_genai_perf.json` (GenAI-Perf 0.0.16) and AIPerf's documented JSON export schema 1.x: each
metric is `{unit, avg, …}`, derived metrics have `avg` alone.
"""

from __future__ import annotations

import csv
from typing import Any

from cardmatch.engine.speed.reports.report import Family, Report, Tool, Unreadable, number, rates_of
from cardmatch.engine.speed.reports.text import cells, documents, last_lines
from cardmatch.engine.speed.throughput import WorkUnit

_METRICS = (
    "request_throughput",
    "output_token_throughput",
    "total_token_throughput",
    "output_sequence_length",
    "input_sequence_length",
    "error_request_count",
)


def read_genai_perf(text: str) -> Report:
    """A GenAI-Perf report. Raises Unreadable for anything else."""
    return _report(Tool.GENAI_PERF, text)


def read_aiperf(text: str) -> Report:
    """An AIPerf report. Raises Unreadable for anything else."""
    return _report(Tool.AIPERF, text)


def _report(tool: Tool, text: str) -> Report:
    found = _exported(text) or _tabulated(text)
    requests = found.get("request_throughput")
    prompt, output = found.get("input_sequence_length"), found.get("output_sequence_length")
    total = found.get("total_token_throughput")
    if total is None and requests is not None and prompt is not None and output is not None:
        total = requests * (prompt + output)
    return Report(
        tool=tool,
        family=Family.COMMUNITY,
        rates=rates_of(
            {
                WorkUnit.REQUEST: requests,
                WorkUnit.OUTPUT_TOKEN: found.get("output_token_throughput"),
                WorkUnit.TOKEN: total,
            }
        ),
        prompt_tokens=prompt,
        output_tokens=output,
        failed_requests=int(found.get("error_request_count") or 0),
    )


def _exported(text: str) -> dict[str, float]:
    runs = [row for row in documents(text) if _average(row, "request_throughput") is not None]
    averages = {name: _average(runs[-1], name) for name in _METRICS} if runs else {}
    return {name: value for name, value in averages.items() if value is not None}


def _average(row: dict[str, Any], name: str) -> float | None:
    metric = row.get(name)
    return number(metric.get("avg")) if isinstance(metric, dict) else None


def _tabulated(text: str) -> dict[str, float]:
    """`Output Token Throughput (tokens/sec)` and its average, from a drawn table or from CSV."""
    rows = list(cells(text)) or _separated(text)
    found: dict[str, float] = {}
    for row in rows:
        name = row[0].split("(")[0].strip().lower().replace(" ", "_") if row else ""
        value = number(row[1]) if len(row) > 1 else None
        if name in _METRICS and value is not None:
            found[name] = value
    if "request_throughput" not in found:
        raise Unreadable
    return found


def _separated(text: str) -> list[list[str]]:
    try:
        return list(csv.reader(last_lines(text)))
    except csv.Error:  # a field of more characters than the csv module takes
        raise Unreadable from None
