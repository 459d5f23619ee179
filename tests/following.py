"""Following and publishing in tests, as replicas and operators do."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable

from cardmatch.catalogue.shared.follower import Follower
from cardmatch.catalogue.shared.store import Head, Keys, Unusable, publish, read_head
from cardmatch.catalogue.world import bundled
from tests.redis_server import RedisServer

KEYS = Keys("cardmatch")


def follower(server: RedisServer, *, poll_seconds: float = 0.1, answer_seconds: float = 3.0) -> Follower:
    """A replica that has the bundled snapshot."""
    link = server.link(answer_seconds=answer_seconds)
    return Follower(bundled(), link, KEYS, poll_seconds=poll_seconds)


async def after_publish(server: RedisServer, raw: bytes) -> Head:
    """The head after *raw* was published over whatever is there."""
    link = server.link()
    try:
        try:
            over: bytes | None = await read_head(link.client, KEYS)
        except Unusable:
            over = None
        primary = await link.primary(KEYS.head)
        return await publish(primary, KEYS, raw, over=over, now=dt.datetime.now(dt.UTC))
    finally:
        await link.aclose()


async def settled(happened: Callable[[], bool], *, seconds: float = 10.0) -> None:
    """Wait until it has; fail where it does not."""
    async with asyncio.timeout(seconds):
        while not happened():
            await asyncio.sleep(0.005)
