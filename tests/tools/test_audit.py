"""`make audit`: a finding fails, a missing network does not, and nobody believes that more was checked than was."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tools import audit

CLEAN = {"name": "msgspec", "version": "0.23.0", "vulns": []}
SKIPPED = {"name": "granian", "skip_reason": "not found"}
BAD = {"name": "idna", "version": "3.6", "vulns": [{"id": "PYSEC-2024-60", "fix_versions": ["3.7"]}]}


def _client(folder: Path, packages: list[object] | None, complained: str = "", status: int = 0) -> list[str]:
    """Stands in for pip-audit, which needs a network to say anything."""
    said = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    lines = ["import sys", f"print({said!r})", f"print({complained!r}, file=sys.stderr)", f"sys.exit({status})"]
    program = folder / "client.py"
    program.write_text("\n".join(lines))
    return [sys.executable, str(program)]


def test_a_finding_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was found, and where it is mended."""
    assert audit.main(_client(tmp_path, [CLEAN, BAD], "Found 1 known vulnerability", 1)) == 1
    assert "idna 3.6: PYSEC-2024-60, mended in 3.7" in capsys.readouterr().out


def test_what_was_checked_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A package that the advisories do not know is not one without vulnerabilities."""
    assert audit.main(_client(tmp_path, [CLEAN, SKIPPED])) == 0
    told = capsys.readouterr().out
    assert "1 of 2 packages checked, 0 known vulnerabilities" in told
    assert "granian" in told


def test_without_a_network_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody should be kept from working on a train, or believe that something was checked."""
    assert audit.main(_client(tmp_path, None, "requests.exceptions.ConnectionError: no route", 1)) == 0
    assert "nothing was checked" in capsys.readouterr().out


def test_other_failures_are_failures(tmp_path: Path) -> None:
    """A client that cannot read the files has checked nothing either, and that is our mistake."""
    assert audit.main(_client(tmp_path, None, "invalid requirement", 1)) == 2
