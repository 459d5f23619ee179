"""`llama-bench -o json`, `-o jsonl` and `-o md`: prompt processing (pp), text generation (tg), or both in one (pg).

Fields as in llama.cpp `tools/llama-bench`: `n_prompt`, `n_gen`, `avg_ts`, `stddev_ts`. One stream at a time, without
tokenisation and sampling.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cardmatch.engine.speed.reports.report import (
    Ambiguous,
    Family,
    MeasuredRate,
    Report,
    Tool,
    Unreadable,
    number,
)
from cardmatch.engine.speed.reports.text import cells, documents
from cardmatch.engine.speed.throughput import SLOWEST, WorkUnit

# What llama-bench itself tests when nothing is asked.
DEFAULT_PROMPT_TOKENS = 512
DEFAULT_OUTPUT_TOKENS = 128
_TEST = re.compile(r"(?:pp ?(\d{1,9}))?\+?(?:tg ?(\d{1,9}))?(?: @ d(\d{1,9}))?")


class _Row(NamedTuple):
    """One test: tokens of prompt and of output after *depth* others, and tokens per second of both together."""

    model: str
    prompt: int
    output: int
    depth: int
    rate: float
    deviation: float


def read(text: str, prompt_tokens: float | None, output_tokens: float | None) -> Report:
    """The tests whose lengths are nearest to those of a request (llama-bench's defaults where those are unknown).

    Raises Unreadable for anything else, Ambiguous where several models were tested.
    """
    rows = _documented(text) or _tabulated(text)
    if not rows:
        raise Unreadable
    if len({row.model for row in rows}) > 1:
        raise Ambiguous("model")
    prompt = DEFAULT_PROMPT_TOKENS if prompt_tokens is None else prompt_tokens
    output = DEFAULT_OUTPUT_TOKENS if output_tokens is None else output_tokens
    prefill = _nearest([row for row in rows if not row.output], prompt, 0, depth=0)
    decode = _nearest([row for row in rows if not row.prompt], 0, output, depth=prompt_tokens or 0)
    both = _nearest([row for row in rows if row.prompt and row.output], prompt, output, depth=0)
    return Report(
        tool=Tool.LLAMA_BENCH,
        family=Family.COMMUNITY,
        model=rows[0].model,
        concurrency=1,
        rates=_rates(prefill, decode, both, prompt_tokens, output_tokens),
        prompt_tokens=both.prompt if both else prefill.prompt if prefill else None,
        output_tokens=both.output if both else decode.output if decode else None,
    )


def _rates(
    prefill: _Row | None, decode: _Row | None, both: _Row | None, prompt: float | None, output: float | None
) -> tuple[MeasuredRate, ...]:
    """Rates of a whole request of *prompt* and *output* tokens: prefill, then decode, one stream."""
    found = []
    if prefill and decode and prompt is not None and output:
        seconds = prompt / prefill.rate + output / decode.rate
        spread = (prompt * prefill.deviation / prefill.rate**2) + (output * decode.deviation / decode.rate**2)
        for unit, units in ((WorkUnit.TOKEN, prompt + output), (WorkUnit.OUTPUT_TOKEN, output), (WorkUnit.REQUEST, 1)):
            rate = units / seconds
            found.append(MeasuredRate(unit=unit, units_per_second=rate, deviation=rate * spread / seconds))
    elif both:
        share = both.output / (both.prompt + both.output)
        found.append(MeasuredRate(unit=WorkUnit.TOKEN, units_per_second=both.rate, deviation=both.deviation))
        found.append(
            MeasuredRate(
                unit=WorkUnit.OUTPUT_TOKEN, units_per_second=both.rate * share, deviation=both.deviation * share
            )
        )
    elif decode:
        found.append(MeasuredRate(unit=WorkUnit.OUTPUT_TOKEN, units_per_second=decode.rate, deviation=decode.deviation))
        if not prefill:
            found.append(MeasuredRate(unit=WorkUnit.TOKEN, units_per_second=decode.rate, deviation=decode.deviation))
    elif prefill:
        found.append(MeasuredRate(unit=WorkUnit.TOKEN, units_per_second=prefill.rate, deviation=prefill.deviation))
    return tuple(found)


def _nearest(rows: list[_Row], prompt: float, output: float, *, depth: float) -> _Row | None:
    """The test nearest in length; among equals the one whose cache was filled most like the request's."""
    return min(
        rows,
        key=lambda row: (abs(row.prompt - prompt) + abs(row.output - output), abs(row.depth - depth)),
        default=None,
    )


def _documented(text: str) -> list[_Row]:
    rows = []
    for row in documents(text):
        rate = number(row.get("avg_ts"))
        prompt, output = number(row.get("n_prompt")), number(row.get("n_gen"))
        if rate is None or rate < SLOWEST or prompt is None or output is None or prompt + output <= 0:
            continue
        model = f"{row.get('model_filename') or ''} {row.get('model_type') or ''}".strip()
        depth = int(number(row.get("n_depth")) or 0)
        rows.append(_Row(model, int(prompt), int(output), depth, rate, max(number(row.get("stddev_ts")) or 0.0, 0.0)))
    return rows


def _tabulated(text: str) -> list[_Row]:
    table = list(cells(text))
    header = next((row for row in table if "test" in row and "t/s" in row), None)
    if header is None:
        return []
    model, test, rate = header.index("model") if "model" in header else 0, header.index("test"), header.index("t/s")
    rows = []
    for row in table:
        matched = _TEST.fullmatch(row[test]) if len(row) == len(header) else None
        mean, _, deviation = row[rate].partition("±") if matched else ("", "", "")
        value = number(mean)
        if matched and value and value >= SLOWEST and (matched[1] or matched[2]):
            prompt, output, depth = (int(matched[place] or 0) for place in (1, 2, 3))
            rows.append(_Row(row[model], prompt, output, depth, value, max(number(deviation) or 0.0, 0.0)))
    return rows
