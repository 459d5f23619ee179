"""The page on accuracy, and how sources are left out."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.truth.cases import Case, CaseModel
from tests.truth.document import DOCUMENT, document
from tests.truth.families.registry import FAMILIES
from tests.truth.frame import Figure, LeaveOut, Mark, Scored
from tests.truth.scoring import LOTS, SMALL, Result, in_lots


def _scored(predicted: float, measured: float) -> Scored:
    model = CaseModel(ref=None, config=None, checkpoint=None)
    case = Case(id="row", family="speed", source="log", exclude=None, model=model, setup={}, measured={}, outcome="ran")
    figure = Figure(group="vllm dense", predicted=predicted, measured=measured, low=0.9, high=1.2)
    return Scored(case=case, figures=(figure,))


def test_the_page_shows_errors_bands_and_marks() -> None:
    """One row off by a tenth, inside its band, and a mark that was missed."""
    result = Result(
        family="speed",
        leave_out=LeaveOut.SOURCE,
        read=2,
        excluded=1,
        skipped={},
        left_out=(_scored(1.1, 1.0),),
        in_sample=(_scored(1.05, 1.0),),
        marks=(Mark(name="time per token", figure="median 10 %", wanted="≤ 5 %", met=False),),
    )
    page = document([result])
    assert "| vllm dense | 1 | 10.0% [5.0%] | 10.0% [5.0%] | 1 of 1 |" in page
    assert "- time per token: median 10 % (aim: ≤ 5 %): **missed**" in page


def test_the_committed_page_speaks_of_families_that_are_scored() -> None:
    """No section is left from a family that went."""
    page = DOCUMENT.read_text(encoding="utf-8")
    sections = {line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")}
    assert sections
    assert sections <= {family.name.replace("_", " ").capitalize() for family in FAMILIES}


@pytest.mark.parametrize("sources", [1, 2, 7])
def test_small_sources_are_left_outin_lots_and_large_ones_alone(sources: int) -> None:
    """No row is lost, and no large source shares a fit with another."""
    groups = {f"small {index}": [10 * index] for index in range(sources)} | {"large": list(range(100, 100 + SMALL))}
    found = in_lots(groups)
    assert found["large"] == groups["large"]
    assert len(found) == 1 + min(LOTS, sources)
    assert sorted(chain(*found.values())) == sorted(chain(*groups.values()))
