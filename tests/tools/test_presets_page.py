"""docs/presets.md: every preset, with what it fills in."""

from __future__ import annotations

from cardmatch.engine.advice.question import JobName, Profile, Scenario
from tools.document_presets import PAGE, page


def test_the_page_of_presets_is_up_to_date() -> None:
    """It is what `make docs` writes."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_page_names_every_preset() -> None:
    """Each with a row of its own."""
    for name in (*Profile, *JobName, *Scenario):
        assert f"\n| `{name}` |" in page(), name
