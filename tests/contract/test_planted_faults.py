"""Contract tests are only worth what they catch: each planted fault must make one of them fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.planted import DECODING, DOCUMENT, DOOR, EXAMPLES, FAULTS, Fault

COPIED = ("service", "tests", "docs", "openapi", "tools", "pyproject.toml", "README.md")


@pytest.fixture(scope="module")
def copy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that may be broken."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("truth"))
        else:
            shutil.copy(root / name, folder / name)
    return folder


def _run(folder: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    paths = f"{folder / 'service'}:{folder}"
    environ = {**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_without_a_fault_they_pass(copy: Path) -> None:
    """Else every fault would be caught."""
    done = _run(copy, (DECODING, DOOR, DOCUMENT, EXAMPLES))
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_caught(copy: Path, fault: Fault) -> None:
    """By a test that fails, not by one that cannot be collected."""
    path = copy / "service" / "cardmatch" / fault.file
    source = path.read_text()
    assert fault.old in source, "the fault has no place any more"
    path.write_text(source.replace(fault.old, fault.new))
    try:
        done = _run(copy, fault.tests)
    finally:
        path.write_text(source)
    assert done.returncode == 1, done.stdout
    assert "FAILED tests/" in done.stdout
    assert "ERROR" not in done.stdout


def test_all_eleven_are_planted() -> None:
    """None was lost on the way."""
    assert len({fault.name for fault in FAULTS}) == 11
