"""Clocks that jump: only days, ages and moments come from the wall clock, and any of them will do.

`make soak` lets the clock of a served process jump where libfaketime is; here the clock is one of ours.
"""

from __future__ import annotations

import ast
import datetime as dt
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.http import cost, estimate, recommend, standing
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.router import build
from cardmatch.http.standing import Standing
from cardmatch.settings import Settings
from tests.http.asking import post

# What a day, an age or a moment is asked for: which day it is for prices, when Redis was lost, when something was
# published or read, how old a file is.
WALL_CLOCK = {
    "http/standing.py", "http/estimate.py", "http/cost.py", "http/recommend.py", "catalogue/shared/follower.py",
    "catalogue/shared/desk.py", "cli/refresh.py", "cli/output.py", "cli/catalogue.py", "cli/compare_log.py",
}  # fmt: skip
DAYS = [dt.date(1970, 1, 1), dt.date(2020, 2, 29), dt.date(2026, 11, 30), dt.date(2038, 1, 19), dt.date(2106, 2, 7)]
OPTION = {
    "label": "a",
    "price": {"kind": "caller", "usd_per_hour": 1.0},
    "throughput": {"kind": "measured", "units_per_second": 1.0},
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "/estimate-vram": {"model": "llama 3.1 8b", "cards": ["rtx-4090"]},
    "/recommend": {"model": "llama 3.1 8b", "limit": 1},
    "/cost": {"options": [OPTION], "work": {"kind": "job", "unit": "request", "units": 1}},
}


def _at(moment: dt.datetime) -> SimpleNamespace:
    """The module `datetime` on a machine that believes that it is *moment*."""
    fixed = type("datetime", (dt.datetime,), {"now": classmethod(lambda _, tz=None: moment.astimezone(tz))})
    return SimpleNamespace(**{**vars(dt), "datetime": fixed})


def test_no_duration_is_taken_from_the_wall_clock(root: Path) -> None:
    """Backoffs, limits, timeouts and histograms count on clocks that never go back."""
    found = set()
    for path in (root / "service/cardmatch").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert not (node.attr in {"time", "time_ns"} and ast.unparse(node.value) == "time"), path
                if node.attr in {"now", "today", "utcnow"} and "dat" in ast.unparse(node.value):
                    found.add(str(path.relative_to(root / "service/cardmatch")))
    assert found == WALL_CLOCK


@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("path", QUESTIONS)
def test_questions_are_answered_on_any_day(monkeypatch: pytest.MonkeyPatch, path: str, day: dt.date) -> None:
    """With the day that the clock shows, however wrong it is."""
    for module in (cost, estimate, recommend):
        monkeypatch.setattr(module, "dt", _at(dt.datetime(day.year, day.month, day.day, 12, tzinfo=dt.UTC)))
    response = post(build(OPERATIONS, bundled, Settings()), QUESTIONS[path], path=path)
    assert (response.status, response.json()["priced_on"]) == (200, day.isoformat())


def test_the_age_of_the_catalogue_follows_the_clock_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that was wrong leaves nothing behind once it is right; before the newest fact the age is negative."""
    newest = dt.date.fromisoformat(str(bundled().as_of))
    midnight = dt.datetime(newest.year, newest.month, newest.day, tzinfo=dt.UTC)
    ages = []
    for days in (1, 900, -4000, 1):
        monkeypatch.setattr(standing, "dt", _at(midnight + dt.timedelta(days=days)))
        ages += [it.samples[0].value for it in Standing(bundled).collect() if it.name.endswith("age_seconds")]
    assert ages == [days * 86400 for days in (1, 900, -4000, 1)]
