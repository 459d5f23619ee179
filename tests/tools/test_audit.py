"""`make audit`: a finding fails, a missing network does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import audit


def _client(folder: Path, said: str, complained: str, status: int) -> list[str]:
    """Stands in for pip-audit, which needs a network to say anything."""
    program = folder / "client.py"
    program.write_text(
        f"import sys\nprint({said!r}, end='')\nprint({complained!r}, file=sys.stderr)\nsys.exit({status})\n"
    )
    return [sys.executable, str(program)]


def test_a_finding_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the report of what was found."""
    assert audit.main(_client(tmp_path, "msgspec 0.1 CVE-1\n", "Found 1 known vulnerability", 1)) == 1
    assert "CVE-1" in capsys.readouterr().out


def test_nothing_known_passes(tmp_path: Path) -> None:
    """As it should."""
    assert audit.main(_client(tmp_path, "", "No known vulnerabilities found", 0)) == 0


def test_without_a_network_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody should be kept from working on a train, or believe that something was checked."""
    assert audit.main(_client(tmp_path, "", "requests.exceptions.ConnectionError: no route", 1)) == 0
    assert "nothing was checked" in capsys.readouterr().err


def test_other_failures_are_failures(tmp_path: Path) -> None:
    """A client that cannot read the files has checked nothing either, and that is our mistake."""
    assert audit.main(_client(tmp_path, "", "invalid requirement", 1)) == 1
