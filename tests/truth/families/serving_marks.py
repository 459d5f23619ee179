"""The design's marks on serving."""

from __future__ import annotations

from collections.abc import Sequence

from tests.truth.frame import Figure, Mark, Scored
from tests.truth.statistics import median, percentile

_KV_TOLERANCE, _KV_SHARE = 0.015, 0.97
_WEIGHTS_MEDIAN, _WEIGHTS_NINETIETH = 0.01, 0.05
_POOL_GIB, _POOL_SHARE = 1.5, 0.75
_LOST_SHARE, _GOOD_SHARE = 0.03, 0.60
_FEWEST = 15
_GOOD = {"comfortable", "fits", "queues"}


def serving_marks(scored: Sequence[Scored], *, kv: str, weights: str, pool: str) -> tuple[Mark, ...]:
    """Marks on cache, weights and pools by the names of their groups, and on verdicts."""
    return (
        _share_within(scored, kv, _KV_TOLERANCE, _KV_SHARE, "kv within 1.5 %", fewest=_FEWEST),
        _weights_mark(_figures(scored, weights)),
        _share_within(scored, pool, _POOL_GIB, _POOL_SHARE, "pool within 1.5 GiB", fewest=1),
        *verdict_marks(scored),
    )


def _figures(scored: Sequence[Scored], group: str) -> list[Figure]:
    return [figure for row in scored for figure in row.figures if figure.group == group]


def _share_within(
    scored: Sequence[Scored], group: str, tolerance: float, wanted: float, name: str, *, fewest: int
) -> Mark:
    figures = _figures(scored, group)
    hits = sum(abs(figure.error) <= tolerance for figure in figures)
    share = hits / len(figures) if figures else 0.0
    return Mark(
        name=name,
        figure=f"{hits} of {len(figures)} ({share:.1%})",
        wanted=f"≥ {wanted:.0%}",
        met=share >= wanted if len(figures) >= fewest else None,
    )


def _weights_mark(figures: list[Figure]) -> Mark:
    errors = [abs(figure.error) for figure in figures]
    middle, ninetieth = median(errors), percentile(errors, 0.9)
    return Mark(
        name="weights per GPU",
        figure=f"median {middle:.2%}, p90 {ninetieth:.2%} of {len(errors)}",
        wanted="≤ 1 %, ≤ 5 %",
        met=middle <= _WEIGHTS_MEDIAN and ninetieth <= _WEIGHTS_NINETIETH if len(errors) >= _FEWEST else None,
    )


def verdict_marks(scored: Sequence[Scored]) -> tuple[Mark, ...]:
    """No failed row called good; few rows that ran called lost, most of them good. Offloaded rows are left out."""
    judged = [row.judged for row in scored if row.judged is not None and not row.judged.offloaded]
    failed = [row for row in judged if row.outcome != "ran"]
    ran = [row for row in judged if row.outcome == "ran"]
    wrong = sum(row.verdict in {"comfortable", "fits"} for row in failed)
    lost = sum(row.verdict == "does_not_fit" for row in ran)
    good = sum(row.verdict in _GOOD for row in ran)
    share_lost, share_good = (lost / len(ran), good / len(ran)) if ran else (0.0, 0.0)
    judged_enough = len(ran) >= _FEWEST
    return (
        Mark(
            name="refused or out of memory called comfortable or fits",
            figure=f"{wrong} of {len(failed)}",
            wanted="0",
            met=wrong == 0 if failed else None,
        ),
        Mark(
            name="ran, called does_not_fit",
            figure=f"{lost} of {len(ran)} ({share_lost:.1%})",
            wanted="≤ 3 %",
            met=share_lost <= _LOST_SHARE if judged_enough else None,
        ),
        Mark(
            name="ran, called comfortable, fits or queues",
            figure=f"{good} of {len(ran)} ({share_good:.0%})",
            wanted="≥ 60 %",
            met=share_good >= _GOOD_SHARE if judged_enough else None,
        ),
    )
