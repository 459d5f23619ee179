"""MLPerf Inference: a row of the published results, or the summary that LoadGen writes.

Fields as in `summary_results.json` of the MLCommons results repositories (rounds 4.0 to 5.1) and in LoadGen's
`mlperf_log_summary.txt`. MLPerf's tokens are generated tokens; a sample of the image benchmarks is one image. Rows of
MLPerf Training hold minutes to a quality target, which is no rate of work, and are not read.
"""

from __future__ import annotations

import csv
from typing import Any

from cardmatch.engine.speed.reports.report import (
    Ambiguous,
    Family,
    MeasuredRate,
    Report,
    Tool,
    Unreadable,
    number,
    rates_of,
)
from cardmatch.engine.speed.reports.text import documents, labels, last_lines
from cardmatch.engine.speed.throughput import SLOWEST, WorkUnit

_BANNER = "mlperf results summary"
_UNITS = {
    "tokens/s": (WorkUnit.OUTPUT_TOKEN,),
    "samples/s": (WorkUnit.SAMPLE, WorkUnit.ITEM),
    "queries/s": (WorkUnit.REQUEST,),
}
_IMAGES = "stable-diffusion"


def read(text: str) -> Report:
    """One published row (JSON, or CSV with its header) or one LoadGen summary, whole system.

    Raises Unreadable for anything else and for runs that LoadGen calls invalid, Ambiguous where there are several rows.
    """
    if _BANNER in text.lower():
        return _summary(text)
    rows = [row for row in documents(text) or _table(text) if "Performance_Result" in row]
    if not rows:
        raise Unreadable
    if len(rows) > 1:
        raise Ambiguous("row")
    return _published(rows[0])


def _table(text: str) -> list[dict[str, Any]]:
    try:
        return list(csv.DictReader(last_lines(text)))
    except csv.Error:  # a field of more characters than the csv module takes
        return []


def _published(row: dict[str, Any]) -> Report:
    units = _UNITS.get(str(row.get("Performance_Units")).strip().lower())
    rate = number(row.get("Performance_Result"))
    if units is None or rate is None or rate < SLOWEST:
        raise Unreadable
    model = str(row.get("Model") or row.get("MlperfModel") or "") or None
    if WorkUnit.SAMPLE in units and model is not None and model.startswith(_IMAGES):
        units = (*units, WorkUnit.IMAGE)
    return Report(
        tool=Tool.MLPERF,
        family=Family.STANDARD_SUITE,
        model=model,
        rates=tuple(MeasuredRate(unit=unit, units_per_second=rate) for unit in units),
        accelerators=_accelerators(row),
    )


def _accelerators(row: dict[str, Any]) -> int | None:
    total = number(row.get("Total Accelerators"))
    if total is None:
        each, nodes = number(row.get("a#")), number(row.get("Nodes") or 1)
        total = each * nodes if each is not None and nodes is not None else None
    return int(total) if total is not None and total >= 1 else None


def _summary(text: str) -> Report:
    found = labels(text)
    if found.get("result is", "").upper() != "VALID":
        raise Unreadable
    samples = number(found.get("samples per second") or found.get("completed samples per second"))
    tokens = number(found.get("tokens per second") or found.get("completed tokens per second"))
    return Report(
        tool=Tool.MLPERF,
        family=Family.STANDARD_SUITE,
        rates=rates_of({WorkUnit.SAMPLE: samples, WorkUnit.ITEM: samples, WorkUnit.OUTPUT_TOKEN: tokens}),
    )
