"""Peaks of making images and video, of training adapters for it, and of speech recognition, against published runs."""

from __future__ import annotations

from collections.abc import Sequence

from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration, factors
from cardmatch.engine.memory.diffusion.peak import peak
from cardmatch.engine.memory.diffusion.placed import Tried, attempt, band, spread_of, verdict
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case
from tests.truth.families.diffusion_request import Prepared, prepare
from tests.truth.families.serving_marks import verdict_marks
from tests.truth.families.speech_request import Speech, prepare_speech, speech_figure
from tests.truth.frame import Figure, Judged, LeaveOut, Mark, Scored
from tests.truth.statistics import median, percentile
from tests.truth.world import TruthWorld
from tools.calibrate.diffusion import Observation, calibrate, found_curves

PEAK, ENCODING, FULL = "peak", "autoencoder's encoding", "full training"
_MEDIAN, _NINETIETH = 0.12, 0.35
_FEWEST = 15


class DiffusionFamily:
    """Rows of diffusion_memory."""

    name = "diffusion_memory"
    leave_out = LeaveOut.SOURCE

    def prepare(self, case: Case, world: TruthWorld) -> Prepared | Speech:
        """The row as a request. Raises Skipped."""
        return prepare_speech(case, world) if case.setup["task"] == "asr" else prepare(case, world)

    def fit(self, prepared: Sequence[Prepared | Speech], world: TruthWorld) -> DiffusionCalibration:
        """Constants and spreads from these rows alone."""
        seen = [each for row in prepared if isinstance(row, Prepared) for each in row.observations]
        if not seen:
            return world.catalogue.calibration.diffusion
        return calibrate(seen, world.catalogue.calibration.diffusion.as_of)

    def score(self, prepared: Prepared | Speech, fitted: DiffusionCalibration) -> Scored:
        """The peak that the row states, and the verdict where the card is known."""
        if isinstance(prepared, Speech):
            return Scored(case=prepared.case, figures=(speech_figure(prepared, fitted),))
        figures = tuple([_figure(prepared, each, fitted) for each in prepared.observations])
        return Scored(case=prepared.case, figures=figures, judged=_judged(prepared, fitted))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """The design's marks: peaks of inference and LoRA, and verdicts."""
        errors = [abs(figure.error) for row in scored for figure in row.figures if figure.group == PEAK]
        middle, ninetieth = median(errors), percentile(errors, 0.9)
        peaks = Mark(
            name="diffusion peak, inference and LoRA",
            figure=f"median {middle:.1%}, p90 {ninetieth:.1%} of {len(errors)}",
            wanted="≤ 12 %, ≤ 35 %",
            met=middle <= _MEDIAN and ninetieth <= _NINETIETH if len(errors) >= _FEWEST else None,
        )
        return (peaks, *verdict_marks(scored))


def _figure(prepared: Prepared, seen: Observation, fitted: DiffusionCalibration) -> Figure:
    known = factors(fitted)
    top = peak(found_curves(seen, known), seen.job.size, known)
    expected: float = getattr(top, seen.kind)
    found = band(expected, spread_of(seen.job, seen.kind, fitted), Basis.CALIBRATED)
    task = prepared.case.setup["task"]
    return Figure(
        group={"vae_encode": ENCODING, "full": FULL}.get(task, PEAK),
        predicted=found.expected_bytes / GIB,
        measured=seen.measured_bytes / GIB,
        low=found.low_bytes / GIB,
        high=found.high_bytes / GIB,
    )


def _judged(prepared: Prepared, fitted: DiffusionCalibration) -> Judged | None:
    if not prepared.known_device or prepared.case.setup["task"] == "vae_encode":
        return None
    tried: Tried = attempt(prepared.job, factors(fitted), fitted)
    found = verdict(tried, prepared.placement)
    offloaded = prepared.job.offload is not ComponentOffload.NONE
    return Judged(verdict=found.verdict.value, outcome=prepared.case.outcome, offloaded=offloaded)
