"""`cardmatch key`: keys for those who may ask."""

from __future__ import annotations

import pytest

from cardmatch.cli import main
from cardmatch.keys import parse


def test_the_entry_lets_the_key_in(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed can be given to both sides as it stands."""
    assert main(["key", "team-a"]) == 0
    told = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert parse(told["entry"]).owner(told["key"].encode()) == "team-a"


def test_a_name_that_no_list_could_hold_is_refused() -> None:
    """It would only be found out at the next start."""
    assert main(["key", "a,b"]) == 2
