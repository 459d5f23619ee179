"""The scoreboard as text: groups with their errors and bands, the worst rows, the marks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.truth.frame import Figure, Scored
from tests.truth.scoring import Result
from tests.truth.statistics import median, percentile, wilson

WORST = 5
Row = tuple[Figure, Scored]


def by_group(scored: Sequence[Scored]) -> dict[str, list[Row]]:
    """Figures by group, each with its row."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in scored:
        for figure in row.figures:
            groups[figure.group].append((figure, row))
    return dict(groups)


def lines(result: Result) -> Iterator[str]:
    """The report of one family."""
    yield f"{result.family}: {result.read} rows read, {result.excluded} excluded, {len(result.left_out)} scored"
    yield f"  leaving one {result.leave_out.value} out of every fit; in-sample figures in brackets"
    for reason, number in sorted(result.skipped.items(), key=lambda item: -item[1]):
        yield f"  skipped {number:4}: {reason}"
    seen = by_group(result.in_sample)
    for group, rows in sorted(by_group(result.left_out).items()):
        yield from _group_lines(group, rows, seen.get(group, []))
    yield from _verdict_lines(result)
    for mark in result.marks:
        state = {True: "met", False: "MISSED", None: "not judged"}[mark.met]
        yield f"  {state:10} {mark.name}: {mark.figure} (wanted {mark.wanted})"


def _group_lines(group: str, rows: list[Row], seen: list[Row]) -> Iterator[str]:
    errors = [abs(figure.error) for figure, _ in rows]
    own = [abs(figure.error) for figure, _ in seen]
    unit = "" if rows[0][0].absolute else " %"
    scale = 1 if rows[0][0].absolute else 100
    yield (
        f"  {group}: {len(rows)} rows, median {scale * median(errors):.2f}{unit} [{scale * median(own):.2f}],"
        f" p90 {scale * percentile(errors, 0.9):.2f}{unit} [{scale * percentile(own, 0.9):.2f}]{_coverage(rows)}"
    )
    worst = sorted(rows, key=lambda row: -abs(row[0].error))[:WORST]
    for figure, row in worst:
        yield (
            f"      {scale * figure.error:+9.2f}{unit}  {row.case.id}: {figure.predicted:.4g} predicted,"
            f" {figure.measured:.4g} measured ({row.case.source})"
        )


def _coverage(rows: list[Row]) -> str:
    covered = [figure.covered for figure, _ in rows if figure.covered is not None]
    if not covered:
        return ""
    low, high = wilson(sum(covered), len(covered))
    return f", band covers {sum(covered)}/{len(covered)} [{low:.0%}, {high:.0%}]"


def _verdict_lines(result: Result) -> Iterator[str]:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in result.left_out:
        if row.judged is not None:
            counts[row.judged.outcome, row.judged.verdict] += 1
    for (outcome, verdict), number in sorted(counts.items()):
        yield f"  {outcome:8} → {verdict:13} {number:4}"
