"""Tokens per second of training runs against published tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.training import training_speed
from tests.truth.cases import Case
from tests.truth.families.training_speed_request import prepare
from tests.truth.frame import Figure, LeaveOut, Mark, Scored
from tests.truth.statistics import median, percentile
from tests.truth.world import TruthWorld
from tools.calibrate.training_speed import Seen, lot_of, with_training

_MEDIAN, _NINETIETH = 0.12, 0.35


class TrainingSpeedFamily:
    """Rows of training_memory and speed that state a training rate."""

    name = "training_speed"
    files = ("training_memory", "speed")
    leave_out = LeaveOut.SOURCE_OR_CARD

    def about(self, case: Case) -> bool:
        """Whether a row measures a training run, on a card that it names."""
        if case.family == "training_memory":
            return case.measured["tokens_per_second_per_gpu"] is not None and case.setup["card"] is not None
        return bool(case.setup["kind"] == "training")

    def prepare(self, case: Case, world: TruthWorld) -> tuple[Case, Seen]:
        """The row as an observation. Raises Skipped."""
        return case, prepare(case, world)

    def lots(self, prepared: Sequence[tuple[Case, Seen]]) -> dict[str, list[int]]:
        """What is left out together, by position."""
        rows = [seen for _, seen in prepared]
        found: dict[str, list[int]] = defaultdict(list)
        for position, seen in enumerate(rows):
            found[lot_of(seen, rows)].append(position)
        return dict(found)

    def fit(self, prepared: Sequence[tuple[Case, Seen]], world: TruthWorld) -> SpeedCalibration:
        """Constants and spreads from these rows alone."""
        empty = SpeedCalibration(as_of=world.catalogue.calibration.speed.as_of, constants={}, spreads={}, seen={})
        return with_training(empty, [seen for _, seen in prepared])

    def score(self, prepared: tuple[Case, Seen], fitted: SpeedCalibration) -> Scored:
        """The measured tokens per second and GPU beside the predicted ones."""
        case, seen = prepared
        band = training_speed(seen.run, seen.chip, fitted).tokens_per_second_per_gpu
        figure = Figure(group=seen.group, predicted=band.expected, measured=seen.rate, low=band.low, high=band.high)
        return Scored(case=case, figures=(figure,))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """All frameworks together."""
        errors = [abs(figure.error) for row in scored for figure in row.figures]
        middle, ninetieth = median(errors), percentile(errors, 0.9)
        return (
            Mark(
                name="training speed",
                figure=f"median {middle:.1%}, p90 {ninetieth:.1%} of {len(errors)}",
                wanted="≤ 12 %, ≤ 35 %",
                met=middle <= _MEDIAN and ninetieth <= _NINETIETH,
            ),
        )
