"""A publish happens whole or not at all, whoever dies in the middle of it, and however many publish at once."""

from __future__ import annotations

import asyncio
import datetime as dt

import msgspec
import pytest
from redis.exceptions import RedisError

from cardmatch.catalogue.shared.address import parse
from cardmatch.catalogue.shared.connect import Link
from cardmatch.catalogue.shared.standing import Overtaken
from cardmatch.catalogue.shared.store import Head, parse_head, publish, read_head, read_snapshot
from cardmatch.catalogue.world import KEPT
from tests.faults.proxy import Proxy
from tests.following import KEYS, after_publish
from tests.redis_server import RedisServer
from tests.snapshots import large, numbered

NOW = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


async def _whole(server: RedisServer) -> Head:
    """The head, after checking that everything that it names is there."""
    link = server.link()
    try:
        head = parse_head(await read_head(link.client, KEYS))
        for version in (head.version, *head.earlier):
            await read_snapshot(link.client, KEYS, version)
    finally:
        await link.aclose()
    return head


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.9999])
@pytest.mark.parametrize("who", ["publisher", "server"])
def test_death_in_the_middle_of_a_publish_leaves_the_old_snapshot(server: RedisServer, who: str, share: float) -> None:
    """Whether the publisher or Redis (which keeps its data on disk) dies after that share of the bytes."""
    server.stop()
    server.options += ["--appendonly", "yes", "--appendfsync", "always"]
    server.start()
    raw = large(1, 1000)

    async def die() -> None:
        first = await after_publish(server, numbered(1))
        proxy = Proxy(server)
        proxy.cut_after_bytes = 200 + int(share * len(raw))  # the first bytes are WATCH and the look at the head
        proxy.on_cut = server.stop if who == "server" else proxy.on_cut
        async with proxy.running():
            link = Link(parse(proxy.url))
            over = msgspec.json.encode(first)
            with pytest.raises((RedisError, OSError)):
                await publish(await link.primary(KEYS.head), KEYS, raw, over=over, now=NOW)
            await link.aclose()
        if who == "server":
            server.start()
        assert await _whole(server) == first
        assert (await after_publish(server, raw)).earlier == (first.version,)

    asyncio.run(die())


def test_of_many_publishers_at_once_exactly_one_wins(server: RedisServer) -> None:
    """The others are told, and what stands is one of the snapshots, whole, after the one that all began with."""

    async def race() -> None:
        first = await after_publish(server, numbered(1))
        over = msgspec.json.encode(first)
        links = [server.link() for _ in range(8)]
        attempts = [
            publish(await link.primary(KEYS.head), KEYS, numbered(10 + n), over=over, now=NOW)
            for n, link in enumerate(links)
        ]
        results = await asyncio.gather(*attempts, return_exceptions=True)
        won = [result for result in results if isinstance(result, Head)]
        assert len(won) == 1
        assert sum(isinstance(result, Overtaken) for result in results) == 7
        assert await _whole(server) == won[0]
        assert won[0].earlier == (first.version,)
        for link in links:
            await link.aclose()

    asyncio.run(race())


def test_two_that_read_the_same_base_do_not_overwrite_each_other(server: RedisServer) -> None:
    """Even when the second publishes long after the first."""

    async def later() -> None:
        await after_publish(server, numbered(1))
        link = server.link()
        base = await read_head(link.client, KEYS)
        second = await after_publish(server, numbered(2))
        with pytest.raises(Overtaken):
            await publish(await link.primary(KEYS.head), KEYS, numbered(3), over=base, now=NOW)
        assert await _whole(server) == second
        await link.aclose()

    asyncio.run(later())


def test_what_no_head_names_any_more_leaves(server: RedisServer) -> None:
    """The current snapshot and the kept ones stay for good; one that fell off the list goes within the hour."""

    async def many() -> list[Head]:
        return [await after_publish(server, numbered(n)) for n in range(1, KEPT + 3)]

    heads = asyncio.run(many())
    kept = asyncio.run(_whole(server))
    assert kept.earlier == tuple(head.version for head in reversed(heads[1:-1]))
    for version in (kept.version, *kept.earlier):
        assert server.ask("TTL", KEYS.snapshot(version)) == -1
    left = server.ask("TTL", KEYS.snapshot(heads[0].version))
    assert isinstance(left, int)
    assert 0 < left <= 3600
    asyncio.run(after_publish(server, numbered(1)))
    assert server.ask("TTL", KEYS.snapshot(heads[0].version)) == -1
