"""A real server for each test, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path

import pytest
import structlog

from cardmatch.catalogue.shared import follower
from tests.redis_server import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """The machine's own redis-server, empty."""
    started = RedisServer(tmp_path)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events that the follower logs, as they come."""
    logged: list[str] = []

    def note(_: object, __: str, event: MutableMapping[str, object]) -> str:
        logged.append(str(event["event"]))
        raise structlog.DropEvent

    monkeypatch.setattr(follower, "_log", structlog.wrap_logger(None, processors=[note]))
    return logged
