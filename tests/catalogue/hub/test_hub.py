"""A hub is asked once for each model, by however many; when it is away, it is left alone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, MutableMapping
from pathlib import Path

import pytest
import structlog

from cardmatch.catalogue.hub import hub as hub_module
from cardmatch.catalogue.hub.client import HubClient
from cardmatch.catalogue.hub.hub import Hub
from cardmatch.catalogue.shared.connect import Link
from tests.hub_server import CONFIG, MODEL, REVISION, HubServer, says
from tests.redis_server import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis to remember in."""
    started = RedisServer(tmp_path)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events that are logged."""
    logged: list[str] = []

    def note(_: object, __: str, event: MutableMapping[str, object]) -> str:
        logged.append(str(event["event"]))
        raise structlog.DropEvent

    monkeypatch.setattr(hub_module, "_log", structlog.wrap_logger(None, processors=[note]))
    return logged


@contextlib.asynccontextmanager
async def asking(server: HubServer, link: Link | None = None) -> AsyncIterator[Hub]:
    """A process of ours that may ask *server*."""
    hub = Hub(HubClient(server.url), link)
    try:
        yield hub
    finally:
        await hub.aclose()
        if link is not None:
            await link.aclose()


def test_many_who_ask_at_once_ask_once(hub: HubServer) -> None:
    """And later ones get what was remembered."""

    async def run() -> None:
        async with asking(hub) as one:
            guests = await asyncio.gather(*(one.model(MODEL) for _ in range(20)))
            assert {guest.revision for guest in guests if guest is not None} == {REVISION}
            assert None not in guests
            assert await one.model(MODEL) == guests[0]

    asyncio.run(run())
    assert len(hub.asked) == 2


def test_who_goes_away_does_not_spoil_it_for_others(hub: HubServer) -> None:
    """A question that is cancelled leaves the fetch to those who wait for the same model."""

    async def run() -> None:
        async with asking(hub) as one:
            first, second = (asyncio.create_task(one.model(MODEL)) for _ in range(2))
            await asyncio.sleep(0)
            first.cancel()
            assert await second is not None

    asyncio.run(run())


def test_what_is_not_there_is_not_asked_for_again(hub: HubServer) -> None:
    """Nor what no hub would have."""

    async def run() -> None:
        async with asking(hub) as one:
            for _ in range(3):
                assert await one.model("acme/none") is None
                assert await one.model("../etc/passwd") is None

    asyncio.run(run())
    assert hub.asked == ["/api/models/acme/none"]


def test_a_hub_that_fails_is_left_alone_for_a_while(
    hub: HubServer, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three failures nobody waits for it; one line says so, and one that it is back."""
    monkeypatch.setattr(hub_module, "_LEFT_ALONE_SECONDS", 0.3)

    async def run() -> None:
        hub.instead = says(503)
        async with asking(hub) as one:
            for number in range(10):
                assert await one.model(f"acme/m{number}") is None
            assert len(hub.asked) == 3
            hub.instead = None
            assert await one.model(MODEL) is None
            await asyncio.sleep(0.35)
            assert await one.model(MODEL) is not None

    asyncio.run(run())
    assert lines == ["hub.lost", "hub.recovered"]


def test_processes_share_what_they_learned(hub: HubServer, server: RedisServer) -> None:
    """What one has asked, the next one reads in Redis, and so it does that there is nothing."""

    async def run() -> None:
        for _ in range(2):
            async with asking(hub, server.link()) as one:
                assert await one.model(MODEL) is not None
                assert await one.model("acme/none") is None

    asyncio.run(run())
    assert len(hub.asked) == 3
    kept = server.ask("TTL", f"{{cardmatch}}:hub:1:{MODEL}")
    assert isinstance(kept, int)
    assert 0 < kept <= 24 * 3600


@pytest.mark.parametrize(
    "value", [b"garbage", b"{}", b'{"id": "acme/other", "revision": "0000000", "config": {}}', b"[" * 10_000, b""]
)
def test_garbage_in_redis_is_no_model(hub: HubServer, server: RedisServer, value: bytes) -> None:
    """The hub is asked instead, and its answer takes the place."""
    key = f"{{cardmatch}}:hub:1:{MODEL}"
    server.ask("SET", key, value)

    async def run() -> None:
        async with asking(hub, server.link()) as one:
            guest = await one.model(MODEL)
            assert guest is not None
            assert guest.config == CONFIG

    asyncio.run(run())
    assert server.ask("GET", key) != value


@pytest.mark.parametrize("how", ["stop", "freeze"])
def test_a_redis_that_is_away_hardly_holds_it_up(hub: HubServer, server: RedisServer, how: str) -> None:
    """Half a second at most, and the hub answers."""
    getattr(server, how)()

    async def run() -> float:
        async with asking(hub, server.link()) as one:
            began = time.monotonic()
            assert await one.model(MODEL) is not None
            return time.monotonic() - began

    assert asyncio.run(run()) < 1.5
