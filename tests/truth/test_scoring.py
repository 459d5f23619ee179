"""How rows are scored: left out of their own fit, skipped by reason, marked."""

from __future__ import annotations

from collections.abc import Sequence

from tests.truth.cases import Case, CaseModel, Skipped
from tests.truth.frame import Figure, LeaveOut, Mark, Scored
from tests.truth.scoring import score_family
from tests.truth.world import TruthWorld


class Means:
    """A family whose one constant is the mean of its rows."""

    name = "means"
    leave_out = LeaveOut.SOURCE

    def prepare(self, case: Case, world: TruthWorld) -> Case:
        """Rows without a figure are skipped."""
        del world
        if case.measured["value"] is None:
            raise Skipped("no value")
        return case

    def fit(self, prepared: Sequence[Case], world: TruthWorld) -> float:
        """The mean."""
        del world
        values: list[float] = [case.measured["value"] for case in prepared]
        return sum(values) / len(values) if values else 0.0

    def score(self, prepared: Case, fitted: float) -> Scored:
        """The mean is what every row is said to be."""
        figure = Figure(group="value", predicted=fitted, measured=prepared.measured["value"])
        return Scored(case=prepared, figures=(figure,))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """None of its own."""
        del scored
        return ()


def case(name: str, source: str, value: float | None, exclude: str | None = None) -> Case:
    """A row that measured *value*."""
    model = CaseModel(ref=None, config=None, checkpoint=None)
    return Case(
        id=name, family="means", source=source, exclude=exclude, model=model, setup={}, measured={"value": value}
    )


REPOSITORY = "https://github.com/owner/name"


def test_no_row_is_predicted_by_its_own_source() -> None:
    """Two rows of one repository are both left out when either is predicted."""
    rows = (case("a", f"{REPOSITORY}/blob/1/x", 1), case("b", f"{REPOSITORY}/blob/2/y", 3), case("c", "elsewhere", 10))
    result = score_family(Means(), rows, TruthWorld())
    assert [row.figures[0].predicted for row in result.left_out] == [10, 10, 2]
    assert [row.figures[0].predicted for row in result.in_sample] == [14 / 3] * 3


def test_excluded_rows_are_not_scored_and_skipped_ones_are_counted() -> None:
    """The share that is scored is of the rows that are not excluded."""
    rows = (case("a", "x", 1), case("b", "y", None), case("c", "z", 5, exclude="suspect"))
    result = score_family(Means(), rows, TruthWorld())
    assert (result.read, result.excluded, len(result.left_out)) == (3, 1, 1)
    assert result.skipped == {"no value": 1}
    assert result.marks[-1].met is False
