"""Rates and latencies of language models against published benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from cardmatch.engine.speed.band import doubt
from cardmatch.engine.speed.calibration import SpeedCalibration
from tests.truth.cases import Case
from tests.truth.families.speed_request import prepare_language
from tests.truth.frame import Figure, LeaveOut, Mark, Scored
from tests.truth.statistics import median, percentile
from tests.truth.world import TruthWorld
from tools.calibrate.speed import Observation, calibrate, known_of, predicted

DENSE, MIXTURE = (0.10, 0.27), (0.20, 0.60)
FEWEST = 15
OTHER_KINDS = {"training", "diffusion"}


class SpeedFamily:
    """Rows of speed that measure language models being served or run."""

    name = "speed"
    leave_out = LeaveOut.LARGE_SOURCE

    def about(self, case: Case) -> bool:
        """Whether a row measures a language model being served or run."""
        return case.setup["kind"] not in OTHER_KINDS

    def prepare(self, case: Case, world: TruthWorld) -> tuple[Case, Observation]:
        """The row as an observation. Raises Skipped."""
        return case, prepare_language(case, world)

    def fit(self, prepared: Sequence[tuple[Case, Observation]], world: TruthWorld) -> SpeedCalibration:
        """Constants and spreads from these rows alone."""
        return calibrate([seen for _, seen in prepared], world.catalogue.calibration.speed.as_of, ranges=True)

    def score(self, prepared: tuple[Case, Observation], fitted: SpeedCalibration) -> Scored:
        """The measured time, in milliseconds, beside the predicted one."""
        case, seen = prepared
        seconds = predicted(seen, known_of(seen, fitted.values))
        group = fitted.seen.get(seen.group, ())
        band = doubt(fitted.spreads.get(seen.group), seen=seen.card in group).time(seconds * 1e3)
        figure = Figure(
            group=seen.group, predicted=band.expected, measured=seen.seconds * 1e3, low=band.low, high=band.high
        )
        return Scored(case=case, figures=(figure,))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """By engine, dense models and mixtures apart; bursts, static batches and prefills are printed only."""
        groups = sorted({figure.group for row in scored for figure in row.figures})
        marked = [group for group in groups if group.endswith(("dense", "mixture"))]
        return tuple([_mark(group, scored) for group in marked])


def _mark(group: str, scored: Sequence[Scored]) -> Mark:
    errors = [abs(figure.error) for row in scored for figure in row.figures if figure.group == group]
    middle, ninetieth = median(errors), percentile(errors, 0.9)
    wanted = MIXTURE if group.endswith("mixture") else DENSE
    return Mark(
        name=f"time per token, {group}",
        figure=f"median {middle:.1%}, p90 {ninetieth:.1%} of {len(errors)}",
        wanted=f"≤ {wanted[0]:.0%}, ≤ {wanted[1]:.0%}",
        met=middle <= wanted[0] and ninetieth <= wanted[1] if len(errors) >= FEWEST else None,
    )


class SpeedByCardFamily(SpeedFamily):
    """The same rows, leaving cards out of the fit: how well a card is predicted that nobody measured. Not marked."""

    name = "speed_by_card"
    files = ("speed",)
    leave_out = LeaveOut.CARD
    beside = True

    def fit(self, prepared: Sequence[tuple[Case, Observation]], world: TruthWorld) -> SpeedCalibration:
        """Constants and the spreads of the sample."""
        return calibrate([seen for _, seen in prepared], world.catalogue.calibration.speed.as_of)

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """None."""
        del scored
        return ()
