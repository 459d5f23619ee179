"""Peaks of training and fine-tuning against published tables and logs."""

from __future__ import annotations

from collections.abc import Sequence

from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.demand import demands
from cardmatch.engine.memory.training.peak import factors
from cardmatch.engine.memory.training.placed import verdict
from cardmatch.engine.memory.training.tried import PROCESS, attempt, band_of
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case
from tests.truth.families.serving_marks import verdict_marks
from tests.truth.families.training_request import Prepared, prepare
from tests.truth.frame import Figure, Judged, LeaveOut, Mark, Scored
from tests.truth.statistics import median, percentile
from tests.truth.world import TruthWorld
from tools.calibrate.training import Observation, calibrate

KINDS = ("allocated", "reserved", "process")
UNKNOWN, NOTED = "unknown, as reserved", "process, from notes"
AS_READ = "oom (as read)"
_MEDIAN, _NINETIETH = 0.10, 0.30
_FEWEST = 15
_FOLDS = 3
"""Lots in which a fit leaves its own sources out for its spreads; one by one would take minutes."""


class TrainingFamily:
    """Rows of training_memory."""

    name = "training_memory"
    leave_out = LeaveOut.SOURCE

    def prepare(self, case: Case, world: TruthWorld) -> Prepared:
        """The row as a request. Raises Skipped."""
        return prepare(case, world)

    def fit(self, prepared: Sequence[Prepared], world: TruthWorld) -> TrainingCalibration:
        """Constants and spreads from these rows alone."""
        seen = [each for row in prepared for each in row.observations]
        if not seen:
            return world.catalogue.calibration.training
        return calibrate(seen, world.catalogue.calibration.training.as_of, _FOLDS)

    def score(self, prepared: Prepared, fitted: TrainingCalibration) -> Scored:
        """Each peak that the row states, and the verdict where the card is known."""
        figures = tuple([_figure(prepared, each, fitted) for each in prepared.observations])
        return Scored(case=prepared.case, figures=figures, judged=_judged(prepared, fitted))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """The design's marks: peaks by kind, and verdicts; outcomes that were only read as such do not fail one."""
        stated = [row for row in scored if row.judged is None or row.judged.outcome != AS_READ]
        return (
            *(_peak_mark(scored, (kind,)) for kind in KINDS),
            _peak_mark(scored, (*KINDS, UNKNOWN)),
            *verdict_marks(stated),
        )


def _figure(prepared: Prepared, seen: Observation, fitted: TrainingCalibration) -> Figure:
    job, spread = prepared.job, prepared.mesh
    tried = attempt(job, spread, demands(job, spread), factors(fitted))
    noted = seen.kind == "process" and prepared.case.measured["peak_kind"] != "process"
    kind = "reserved" if seen.kind == "unknown" else seen.kind
    band = band_of(tried, kind, fitted)
    return Figure(
        group=UNKNOWN if seen.kind == "unknown" else NOTED if noted else seen.kind,
        predicted=band.expected_bytes / GIB,
        measured=seen.measured_bytes / GIB,
        low=band.low_bytes / GIB,
        high=band.high_bytes / GIB,
    )


def _judged(prepared: Prepared, fitted: TrainingCalibration) -> Judged | None:
    if not prepared.known_device:
        return None
    tried = attempt(prepared.job, prepared.mesh, demands(prepared.job, prepared.mesh), factors(fitted))
    found = verdict(tried, band_of(tried, PROCESS, fitted), prepared.placement)
    outcome: str = prepared.case.outcome
    if outcome != "ran" and "read as out of memory" in (prepared.case.note or ""):
        outcome = AS_READ
    return Judged(verdict=found.verdict.value, outcome=outcome, offloaded=bool(prepared.job.offload))


def _figures(scored: Sequence[Scored], groups: tuple[str, ...]) -> list[Figure]:
    return [figure for row in scored for figure in row.figures if figure.group in groups]


def _peak_mark(scored: Sequence[Scored], groups: tuple[str, ...]) -> Mark:
    errors = [abs(figure.error) for figure in _figures(scored, groups)]
    middle, ninetieth = median(errors), percentile(errors, 0.9)
    return Mark(
        name=f"training peak, {groups[0] if len(groups) == 1 else 'all kinds'}",
        figure=f"median {middle:.1%}, p90 {ninetieth:.1%} of {len(errors)}",
        wanted="≤ 10 %, ≤ 30 %",
        met=middle <= _MEDIAN and ninetieth <= _NINETIETH if len(errors) >= _FEWEST else None,
    )
