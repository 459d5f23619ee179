"""A hub for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hub_server import HubServer, hub_server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A stand-in on the loopback, which no proxy of the machine comes between."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hub_server() as server:
        yield server
