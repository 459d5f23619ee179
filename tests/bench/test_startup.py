"""How long it takes until something can be asked, against the marks."""

from __future__ import annotations

from tools.bench.startup import rows


def test_start_up_keeps_its_marks() -> None:
    """Importing the whole engine takes at most 150 ms of CPU, a whole `cardmatch estimate` at most 400 ms."""
    for name, figure, unit, mark in rows():
        assert mark is not None
        assert figure <= mark, f"{name}: {figure:.0f} {unit}"
