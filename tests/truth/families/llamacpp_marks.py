"""The design's marks on llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence

from tests.truth.families.serving_marks import verdict_marks
from tests.truth.frame import Figure, Mark, Scored
from tests.truth.statistics import median, percentile

_KV_TOLERANCE, _KV_SHARE = 0.015, 0.97
_MODEL_MEDIAN, _COMPUTE_MEDIAN = 0.02, 0.12
_SUM_MEDIAN, _SUM_NINETIETH = 0.03, 0.08
_FEWEST = 15


def llamacpp_marks(scored: Sequence[Scored]) -> tuple[Mark, ...]:
    """Marks on caches, on components of mainline and of the fork, on sums, and on verdicts."""
    kv = _figures(scored, "kv")
    hits = sum(abs(figure.error) <= _KV_TOLERANCE for figure in kv)
    share = hits / len(kv) if kv else 0.0
    return (
        Mark(
            name="kv within 1.5 %",
            figure=f"{hits} of {len(kv)} ({share:.1%})",
            wanted=f"≥ {_KV_SHARE:.0%}",
            met=share >= _KV_SHARE if len(kv) >= _FEWEST else None,
        ),
        *(_errors(scored, f"model ({group})", _MODEL_MEDIAN) for group in ("mainline", "fork")),
        *(_errors(scored, f"compute ({group})", _COMPUTE_MEDIAN) for group in ("mainline", "fork")),
        *(_errors(scored, f"sum ({group})", _SUM_MEDIAN, _SUM_NINETIETH) for group in ("mainline", "fork")),
        *verdict_marks(scored),
    )


def _figures(scored: Sequence[Scored], group: str) -> list[Figure]:
    """The figures of *group* and of the groups within it: “compute (fork)” counts its latent attention too."""
    within = group.removesuffix(")") + ","
    return [
        figure for row in scored for figure in row.figures if figure.group == group or figure.group.startswith(within)
    ]


def _errors(scored: Sequence[Scored], group: str, most: float, ninetieth: float | None = None) -> Mark:
    errors = [abs(figure.error) for figure in _figures(scored, group)]
    middle, tail = median(errors), percentile(errors, 0.9)
    met = middle <= most and (ninetieth is None or tail <= ninetieth)
    wanted = f"≤ {most:.0%}" + (f", ≤ {ninetieth:.0%}" if ninetieth is not None else "")
    return Mark(
        name=group,
        figure=f"median {middle:.2%}, p90 {tail:.1%} of {len(errors)}",
        wanted=wanted,
        met=met if len(errors) >= _FEWEST else None,
    )
