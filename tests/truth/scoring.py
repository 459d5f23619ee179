"""Scoring a family: prepare every row once, fit without each row's own source, and fit on all beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.truth.cases import Case, Skipped, read_cases
from tests.truth.frame import Family, Figure, LeaveOut, Mark, Scored
from tests.truth.statistics import median, wilson
from tests.truth.world import TruthWorld


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A scored family. `left_out` are rows predicted by fits that had not seen their source."""

    family: str
    leave_out: LeaveOut
    read: int
    excluded: int
    skipped: dict[str, int]
    left_out: tuple[Scored, ...]
    in_sample: tuple[Scored, ...]
    marks: tuple[Mark, ...]

    @property
    def share_scored(self) -> float:
        """Scored rows among those that are not excluded."""
        return len(self.left_out) / (self.read - self.excluded) if self.read > self.excluded else 1.0


SHARE_SCORED = 0.85
FEWEST_BANDS = 30
SMALL, LOTS = 5, 3
COVERED_SHARE, COVERED_MOST, NARROW = 0.78, 0.95, 0.10


def cases_of(family: Family, folder: Path) -> tuple[Case, ...]:
    """The rows that *family* scores: those of its own name or of the files that it names, where it is about them."""
    files: tuple[str, ...] = getattr(family, "files", (family.name,))
    about: Callable[[Case], bool] = getattr(family, "about", lambda _: True)
    completed: Callable[[Case], Case] = getattr(family, "completed", lambda case: case)
    return tuple(completed(case) for name in files for case in read_cases(folder, name) if about(case))


def score_family(family: Family, cases: Sequence[Case], world: TruthWorld) -> Result:
    """Score *cases* with *family*."""
    skipped: Counter[str] = Counter()
    prepared: list[tuple[Case, Any]] = []
    for case in cases:
        if case.exclude is not None:
            continue
        try:
            prepared.append((case, family.prepare(case, world)))
        except Skipped as reason:
            skipped[str(reason)] += 1
    everything = family.fit([item for _, item in prepared], world)
    in_sample = [_score(family, item, everything) for _, item in prepared]
    left_out = _leave_one_out(family, prepared, world)
    for scored in left_out:
        if scored is None:
            skipped["no figure to compare"] += 1
    kept = tuple(scored for scored in left_out if scored is not None)
    excluded = sum(case.exclude is not None for case in cases)
    result = Result(
        family=family.name,
        leave_out=family.leave_out,
        read=len(cases),
        excluded=excluded,
        skipped=dict(skipped),
        left_out=kept,
        in_sample=tuple(scored for scored in in_sample if scored is not None),
        marks=family.marks(kept),
    )
    if getattr(family, "beside", False):
        return result
    return msgspec.structs.replace(result, marks=(*result.marks, *_coverage_marks(kept), _scored_mark(result)))


def _score(family: Family, item: Any, fitted: Any) -> Scored | None:
    """None where the row has nothing that could be compared."""
    try:
        scored = family.score(item, fitted)
    except Skipped:
        return None
    return scored if scored.figures or scored.judged else None


def _leave_one_out(family: Family, prepared: Sequence[tuple[Case, Any]], world: TruthWorld) -> list[Scored | None]:
    groups: dict[str, list[int]] = defaultdict(list)
    for position, (case, _) in enumerate(prepared):
        groups[_key(case, family.leave_out)].append(position)
    lots = getattr(family, "lots", None)
    if lots is not None:
        groups = lots([item for _, item in prepared])
    if family.leave_out is LeaveOut.LARGE_SOURCE:
        groups = in_lots(groups)
    found: list[Scored | None] = [None] * len(prepared)
    for positions in groups.values():
        held = set(positions)
        fitted = family.fit([item for position, (_, item) in enumerate(prepared) if position not in held], world)
        for position in positions:
            found[position] = _score(family, prepared[position][1], fitted)
    return found


def in_lots(groups: dict[str, list[int]]) -> dict[str, list[int]]:
    """Sources with few rows are left out several at a time: stricter than one by one, and far fewer fits."""
    found = {key: positions for key, positions in groups.items() if len(positions) >= SMALL}
    small = sorted(key for key in groups if key not in found)
    for lot in range(LOTS):
        together = [position for key in small[lot::LOTS] for position in groups[key]]
        if together:
            found[f"lot {lot}"] = together
    return found


def _key(case: Case, leave_out: LeaveOut) -> str:
    if leave_out is LeaveOut.MODEL:
        return case.model.ref or str(case.model.config)
    if leave_out is LeaveOut.CARD:
        return str(case.setup.get("card"))
    if leave_out is LeaveOut.NOTHING:
        return ""
    return case.origin


def _coverage_marks(scored: Sequence[Scored]) -> Iterator[Mark]:
    """Bands neither too narrow nor, unless they are tight anyway, so wide that nothing ever falls outside."""
    groups: dict[str, list[Figure]] = defaultdict(list)
    for row in scored:
        for figure in row.figures:
            if figure.covered is not None:
                groups[figure.group].append(figure)
    for group, figures in groups.items():
        if len(figures) < FEWEST_BANDS:
            continue
        hits = sum(bool(figure.covered) for figure in figures)
        low, _ = wilson(hits, len(figures))
        width = median([_half_width(figure) for figure in figures])
        yield Mark(
            name=f"bands of {group}",
            figure=f"{hits} of {len(figures)} covered, from {low:.0%}; median ± {width:.0%}",
            wanted=f"≥ {COVERED_SHARE:.0%}, from below {COVERED_MOST:.0%} or narrower than ± {NARROW:.0%}",
            met=hits / len(figures) >= COVERED_SHARE and (low < COVERED_MOST or width < NARROW),
        )


def _half_width(figure: Figure) -> float:
    low, high = figure.low or 0.0, figure.high or 0.0
    return (high - low) / 2 / abs(figure.predicted) if figure.predicted else 1.0


def _scored_mark(result: Result) -> Mark:
    share = result.share_scored
    return Mark(
        name="rows scored",
        figure=f"{len(result.left_out)} of {result.read - result.excluded} ({share:.0%})",
        wanted=f"≥ {SHARE_SCORED:.0%}",
        met=share >= SHARE_SCORED,
    )
