"""Faults as a served process meets them, and the scene on which they happen."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import pytest
from redis.exceptions import RedisError

from cardmatch.catalogue.shared.address import parse
from cardmatch.catalogue.shared.connect import Link
from cardmatch.catalogue.shared.standing import Overtaken
from cardmatch.catalogue.shared.store import Head, publish
from tests.faults.proxy import Proxy
from tests.faults.test_following import UNUSABLE, no_password, wrong_password
from tests.following import KEYS, after_publish
from tests.redis_server import RedisServer
from tests.served import Served
from tests.snapshots import large, numbered

NOW = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


class Scene:
    """The service, the Redis behind it, the bad line between them, and when it was calm and when not."""

    def __init__(self, server: RedisServer, proxy: Proxy, served: Served) -> None:
        """Nothing has happened yet."""
        self.server, self.proxy, self.served = server, proxy, served
        self.periods: list[tuple[float, float, str]] = []
        self.number = 0

    async def state(self) -> tuple[str, str]:
        """How things stand with Redis, and which version answers."""
        told = await asyncio.to_thread(self.served.get, "/catalogue")
        return told["shared"]["redis"], told["version"]

    async def becomes(self, *, redis: str | None = None, version: str | None = None) -> None:
        """Wait until the service says so."""
        async with asyncio.timeout(15):
            while True:
                now = await self.state()
                if redis in {None, now[0]} and version in {None, now[1]}:
                    return
                await asyncio.sleep(0.05)

    @contextlib.asynccontextmanager
    async def period(self, name: str) -> AsyncIterator[None]:
        """What happens in the block counts as *name*."""
        began = time.monotonic()
        yield
        self.periods.append((began, time.monotonic(), name))

    async def next_publish(self) -> Head:
        """Publish another snapshot over whatever is there."""
        self.number += 1
        return await after_publish(self.server, numbered(self.number % 5 + 1))


class Fault(NamedTuple):
    """What is done, what the service then says, and whether that is an outage."""

    harm: Callable[[Scene], object]
    state: str
    outage: bool = True
    heal: Callable[[Scene], object] = lambda _: None


def on_server(harm: Callable[[RedisServer], None]) -> Callable[[Scene], object]:
    """The same, of a scene."""
    return lambda scene: harm(scene.server)


def restart_empty(scene: Scene) -> None:
    """Long enough away to be missed."""
    scene.server.stop()
    time.sleep(1.0)
    scene.server.start()


def full(scene: Scene) -> None:
    """No memory for another snapshot."""
    scene.server.ask("CONFIG", "SET", "maxmemory", "1mb")
    with pytest.raises(RedisError):
        asyncio.run(scene.next_publish())


def demoted(scene: Scene) -> None:
    """A replica of nobody."""
    scene.server.ask("REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(RedisError):
        asyncio.run(scene.next_publish())


def late(scene: Scene) -> None:
    """Every answer takes two seconds."""
    scene.proxy.late_seconds = 2.0
    time.sleep(3)


def in_time(scene: Scene) -> None:
    """No longer."""
    scene.proxy.late_seconds = 0.0


def die_in_mid_publish(scene: Scene) -> None:
    """Half of a snapshot has arrived when the server dies; it is back a second later."""
    raw = large(1, 1000)

    async def half() -> None:
        cut = Proxy(scene.server)
        cut.socket = scene.server.folder / "c.sock"
        cut.cut_after_bytes, cut.on_cut = len(raw) // 2, scene.server.stop
        over = scene.server.ask("GET", KEYS.head)
        assert isinstance(over, bytes)
        async with cut.running():
            link = Link(parse(f"unix://{cut.socket}"))
            with pytest.raises((RedisError, OSError)):
                await publish(await link.primary(KEYS.head), KEYS, raw, over=over, now=NOW)
            await link.aclose()

    asyncio.run(half())
    time.sleep(1.0)
    scene.server.start()


def race(scene: Scene) -> None:
    """Of two that publish over the same snapshot one is told."""

    async def both() -> None:
        over = scene.server.ask("GET", KEYS.head)
        assert isinstance(over, bytes)
        links = [scene.server.link() for _ in range(2)]
        attempts = [
            publish(await link.primary(KEYS.head), KEYS, numbered(6 + n), over=over, now=NOW)
            for n, link in enumerate(links)
        ]
        results = await asyncio.gather(*attempts, return_exceptions=True)
        assert {type(result) for result in results} == {Head, Overtaken}
        for link in links:
            await link.aclose()

    asyncio.run(both())


def swap_large(scene: Scene) -> None:
    """A snapshot of 1.5 MB comes in, and another one after it."""
    for number in (2, 3):
        asyncio.run(after_publish(scene.server, large(number, LARGE)))
        time.sleep(0.5)


LARGE = 1600
"""Offers in a snapshot of 1.5 MB."""
# The rest of what a value may be is tried without questions being asked meanwhile.
UNUSABLE_HERE = (
    "garbage",
    "half a snapshot",
    "another snapshot under the name",
    "a head of another type",
    "an older schema",
    "a newer schema",
)
FAULTS = {
    "a large publish": Fault(swap_large, "current", outage=False),
    "stopped": Fault(on_server(RedisServer.stop), "unavailable", heal=on_server(RedisServer.start)),
    "frozen": Fault(on_server(RedisServer.freeze), "unavailable", heal=on_server(RedisServer.thaw)),
    "flushed": Fault(lambda scene: scene.server.ask("FLUSHALL"), "empty", outage=False),
    "restarted empty": Fault(restart_empty, "empty"),
    "killed in mid-publish": Fault(die_in_mid_publish, "empty"),
    **{name: Fault(on_server(UNUSABLE[name]), "unusable") for name in UNUSABLE_HERE},
    "no memory left": Fault(full, "current", False, lambda scene: scene.server.ask("CONFIG", "SET", "maxmemory", "0")),
    "read-only": Fault(demoted, "current", False, lambda scene: scene.server.ask("REPLICAOF", "NO", "ONE")),
    "wrong password": Fault(on_server(wrong_password), "unavailable", heal=on_server(no_password)),
    "two seconds late": Fault(late, "current", outage=False, heal=in_time),
    "two publishers at once": Fault(race, "current", outage=False),
}
