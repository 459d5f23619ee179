"""docs/accuracy.md: what the last scoring found, for people who decide whether to trust a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.truth.frame import Figure
from tests.truth.report import by_group
from tests.truth.scoring import Result
from tests.truth.statistics import median, percentile

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"

_HEAD = """# Accuracy

Written by `make truth ARGS=--write-docs`; do not edit. Every prediction is made with constants that were fitted without
the row's own source (or, as each section says, model or card). In brackets: with constants fitted to all rows. An error
is |predicted / measured - 1|; a band should hold four measurements in five that it has not seen.
"""


def document(results: Sequence[Result]) -> str:
    """The page for *results*."""
    return "\n".join([_HEAD, *(line for result in results for line in _section(result))])


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.family.replace('_', ' ').capitalize()}"
    yield ""
    yield (
        f"{result.read} rows, {result.excluded} set aside as unfit to judge by, {len(result.left_out)} scored; left out"
        f" of each fit: one {result.leave_out.value}."
    )
    yield ""
    yield "| figure | rows | median error | 90th percentile | in band |"
    yield "| --- | --: | --: | --: | --: |"
    seen = by_group(result.in_sample)
    for group, rows in sorted(by_group(result.left_out).items()):
        if not rows[0][0].absolute:
            yield _row(group, [figure for figure, _ in rows], [figure for figure, _ in seen.get(group, [])])
    yield ""
    yield from _marks(result)


def _row(group: str, figures: list[Figure], seen: list[Figure]) -> str:
    errors, own = [abs(each.error) for each in figures], [abs(each.error) for each in seen]
    covered = [each.covered for each in figures if each.covered is not None]
    inside = f"{sum(covered)} of {len(covered)}" if covered else "exact"
    return (
        f"| {group} | {len(figures)} | {median(errors):.1%} [{median(own):.1%}]"
        f" | {percentile(errors, 0.9):.1%} [{percentile(own, 0.9):.1%}] | {inside} |"
    )


def _marks(result: Result) -> Iterator[str]:
    words = {True: "met", False: "**missed**", None: "too few rows"}
    for mark in result.marks:
        yield f"- {mark.name}: {mark.figure} (aim: {mark.wanted}): {words[mark.met]}"
    yield ""
