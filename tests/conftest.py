"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# The same cases on every machine and at every run: a check that fails by chance is believed by nobody. Whoever wants
# new ones says `--hypothesis-profile random`.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.register_profile("random", deadline=None)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def _tools_on_path() -> None:
    """Programs that `make test` fetched (redis-server) are found like installed ones."""
    os.environ["PATH"] = f"{ROOT / '.tools' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"


@pytest.fixture(scope="session", autouse=True)
def _plain_logs() -> None:
    """What a failed test shows of the log is short: no colours, no local variables."""
    processors: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["event"]),
    ]
    structlog.configure(processors=processors)
