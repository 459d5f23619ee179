"""How rows of llama.cpp logs become commands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.truth.cases import COMMITTED, Skipped, read_cases
from tests.truth.families.llamacpp import LlamaCppFamily
from tests.truth.families.llamacpp_request import build_of, prepare
from tests.truth.scoring import score_family
from tests.truth.world import TruthWorld


@pytest.mark.parametrize(
    ("setup", "build"),
    [
        ({"engine": "llama_cpp", "build": "b9026 a817a22bc", "build_date": "2026-05", "limited_outputs": False}, 9026),
        ({"engine": "ollama", "build": "Ollama 0.32.13", "build_date": "2026-08", "limited_outputs": True}, 10_488),
        ({"engine": "ik_llama_cpp", "build": "b3596 f2fb15de", "build_date": None, "limited_outputs": False}, 5192),
        ({"engine": "llama_cpp", "build": None, "build_date": "2025-05", "limited_outputs": None}, 5300),
    ],
)
def test_builds_come_from_numbers_months_and_versions(setup: dict[str, Any], build: int) -> None:
    """Each engine writes its build in its own way; the fork counts its own."""
    assert build_of(setup) == build


def test_every_row_becomes_a_command_or_says_why_not() -> None:
    """No row fails by accident: it is prepared, or skipped for a reason with a name."""
    world = TruthWorld()
    skipped = 0
    for case in read_cases(COMMITTED, "llamacpp_memory"):
        try:
            prepared = prepare(case, world)
        except Skipped:
            skipped += 1
        else:
            assert prepared.options.n_ctx == prepared.job.context_tokens
    assert skipped < 15


@pytest.mark.slow
def test_marks_hold_on_the_committed_cases() -> None:
    """What the design asks of llama.cpp holds with every source left out of its own fit."""
    result = score_family(LlamaCppFamily(), read_cases(COMMITTED, "llamacpp_memory"), TruthWorld())
    assert [mark for mark in result.marks if mark.met is False] == []
