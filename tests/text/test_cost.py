"""What speaking costs: next to nothing per answer, and nothing before the first one."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Severity
from cardmatch.text.language import Language
from cardmatch.text.words import all_assumed, with_messages

# Ten times what it takes, so that the test finds a mistake (a template compiled per answer) and not a busy machine.
MOST_MICROSECONDS = 200

NOTICES = (
    Notice(
        code=NoticeCode.CONTEXT_BEYOND_MODEL,
        severity=Severity.CAUTION,
        params={"context_tokens": 200_000, "limit_tokens": 131_072},
    ),
) * 3
ASSUMPTIONS = (
    Assumption(pointer="/workload/context_tokens", value=8192),
    Assumption(pointer="/workload/concurrency", value=1),
    Assumption(pointer="/cards/1/layout/tensor", value=2),
) * 2


@pytest.mark.parametrize("language", Language)
def test_three_notices_and_six_assumptions_take_microseconds(language: Language) -> None:
    """Words are filled in within a small part of the time that the figures take."""
    best = float("inf")
    for _ in range(50):
        started = time.process_time()
        with_messages(NOTICES, language)
        all_assumed(ASSUMPTIONS, language)
        best = min(best, time.process_time() - started)
    assert best * 1e6 < MOST_MICROSECONDS


def test_nothing_is_read_before_the_first_sentence() -> None:
    """Importing the room brings in neither Babel nor a data file, for those who ask for JSON figures only."""
    program = (
        "import sys, cardmatch.text.words, cardmatch.text.summary, cardmatch.text.problem\n"
        "from cardmatch.text.sentences import sentences\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'babel']\n"
        "assert sentences.cache_info().currsize == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})
