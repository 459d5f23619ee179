"""A real server for each test, of every brand and version that is there where a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redis_server import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """The machine's own redis-server, empty."""
    started = RedisServer(tmp_path)
    started.start()
    yield started
    started.stop()
