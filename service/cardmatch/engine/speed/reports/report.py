"""What a benchmark tool found, whichever tool it was."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.speed.throughput import SLOWEST, Throughput, UnitsPerSecond, WorkUnit
from cardmatch.engine.terms.band import Basis

# A normal distribution leaves one value in ten outside 1.645 standard deviations.
DEVIATIONS_OF_NINE_IN_TEN = 1.645


class Tool(StrEnum):
    """The benchmark tools whose output is understood."""

    VLLM_BENCH = "vllm_bench"
    LLAMA_BENCH = "llama_bench"
    SGLANG_BENCH = "sglang_bench"
    GENAI_PERF = "genai_perf"
    AIPERF = "aiperf"
    MLPERF = "mlperf"


class Family(StrEnum):
    """The two families of benchmarks: simple tools that anybody runs, and suites with rules, review and rounds."""

    COMMUNITY = "community"
    STANDARD_SUITE = "standard_suite"


class MeasuredRate(msgspec.Struct, frozen=True, kw_only=True):
    """One rate of a report. `deviation` is the standard deviation over repetitions, in the same unit."""

    unit: WorkUnit
    units_per_second: UnitsPerSecond
    deviation: Annotated[float, Meta(ge=0)] = 0.0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one benchmark run.

    `prompt_tokens` and `output_tokens` are means per request; `accelerators` is how many GPUs the rates are of, where
    the report says so; `failed_requests` are those that the rates do not count. `requests_per_second` is the load that
    was offered, where it had a rate, and `concurrency` how many were in flight at most. Of `runs` in the text the last
    one counts.
    """

    tool: Tool
    family: Family
    rates: tuple[MeasuredRate, ...]
    model: str | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    accelerators: int | None = None
    failed_requests: int = 0
    requests_per_second: float | None = None
    concurrency: int | None = None
    runs: int = 1


class Unreadable(Exception):  # noqa: N818 - it says what a text is
    """The text is not a report of the tool that it was read as."""


class Ambiguous(Exception):  # noqa: N818 - as above
    """The report holds several runs and nothing says which is meant; *what* tells them apart."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def throughput_of(report: Report, unit: WorkUnit) -> Throughput | None:
    """The rate of *report* in *unit*, or None where it has none; the band is the spread over repetitions."""
    for rate in report.rates:
        if rate.unit is unit:
            spread = DEVIATIONS_OF_NINE_IN_TEN * rate.deviation
            low = rate.units_per_second - spread
            return Throughput(
                unit=unit,
                low_units_per_second=low if low > 0 else rate.units_per_second / 10,
                expected_units_per_second=rate.units_per_second,
                high_units_per_second=rate.units_per_second + spread,
                basis=Basis.EXACT,
            )
    return None


def rates_of(found: dict[WorkUnit, float | None]) -> tuple[MeasuredRate, ...]:
    """The rates among *found*. Raises Unreadable where there is none: the tool prints at least one."""
    rates = tuple(
        MeasuredRate(unit=unit, units_per_second=value)
        for unit, value in found.items()
        if value is not None and value >= SLOWEST
    )
    if not rates:
        raise Unreadable
    return rates


def number(value: object) -> float | None:
    """*value* as a finite number of a believable size, from JSON or from print ("1,234.5"), else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value.replace(",", "") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and abs(found) <= 10**12 else None


def ratio(total: float | None, count: float | None) -> float | None:
    """*total* per item of *count*, where both are known."""
    return total / count if total is not None and count else None
