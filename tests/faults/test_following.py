"""Whatever Redis does, a process keeps its last good snapshot, says so once, and finds its way back."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import msgspec
import pytest
import redis
from redis.exceptions import RedisError

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.shared.address import parse
from cardmatch.catalogue.shared.connect import Link
from cardmatch.catalogue.shared.follower import Follower
from cardmatch.catalogue.shared.state import RedisState
from cardmatch.catalogue.snapshot import SCHEMA, encode
from cardmatch.catalogue.world import bundled
from tests.faults.proxy import Proxy
from tests.following import KEYS, after_publish, follower, settled
from tests.redis_server import RedisServer
from tests.snapshots import numbered

Harm = Callable[[RedisServer], None]
LOST, RECOVERED, EMPTIED = "catalogue.redis_lost", "catalogue.redis_recovered", "catalogue.redis_emptied"


def plant(blob: bytes | None, *, named: str | None = None, list_instead: bool = False) -> Harm:
    """Have the head name *blob*, or *named* with *blob* under that name."""

    def harm(server: RedisServer) -> None:
        version = named or hashlib.sha256(blob or b"").hexdigest()
        head = msgspec.json.encode({"version": version, "published_at": "2026-01-01T00:00:00Z", "earlier": []})
        if list_instead:
            server.ask("LPUSH", KEYS.snapshot(version), "x")
        elif blob is not None:
            server.ask("SET", KEYS.snapshot(version), blob)
        server.ask("SET", KEYS.head, head)

    return harm


def head(*command: str | bytes) -> Harm:
    """Exchange the head."""

    def harm(server: RedisServer) -> None:
        server.ask("DEL", KEYS.head)
        server.ask(*command)

    return harm


def with_schema(schema: int) -> bytes:
    """A snapshot of another release."""
    return numbered(9).replace(b'"schema":%d' % SCHEMA, b'"schema":%d' % schema, 1)


def contradictory() -> bytes:
    """A snapshot of the right schema whose offers belong to nobody."""
    return encode(msgspec.structs.replace(bundled_snapshot(), providers=()))


OTHER = "f" * 64
UNUSABLE: dict[str, Harm] = {
    "garbage": head("SET", KEYS.head, b"\xff\x00 garbage"),
    "much garbage": head("SET", KEYS.head, b"x" * (20 << 20)),
    "a head of another type": head("LPUSH", KEYS.head, "x"),
    "a head without a version": head("SET", KEYS.head, "{}"),
    "no snapshot under the name": plant(None, named=OTHER),
    "a snapshot of another type": plant(None, named=OTHER, list_instead=True),
    "another snapshot under the name": plant(numbered(9), named=OTHER),
    "half a snapshot": plant(numbered(9)[: len(numbered(9)) // 2], named=hashlib.sha256(numbered(9)).hexdigest()),
    "half a snapshot under its own name": plant(numbered(9)[: len(numbered(9)) // 2]),
    "no JSON": plant(b"garbage"),
    "an older schema": plant(with_schema(SCHEMA - 1)),
    "a newer schema": plant(with_schema(SCHEMA + 1)),
    "rows that contradict each other": plant(contradictory()),
}


async def _survive(server: RedisServer, harm: Harm, state: RedisState, heal: Harm, lines: list[str]) -> None:
    """Keep the snapshot through *harm*, say it once, and take the next one after *heal*."""
    replica = follower(server, poll_seconds=0.05, answer_seconds=0.3)
    async with replica.running(wait_seconds=5):
        first = await after_publish(server, numbered(1))
        await settled(lambda: replica.world().version == first.version)
        harm(server)
        await settled(lambda: replica.world().shared.redis is state)
        polls = replica.tally.polls
        await settled(lambda: replica.tally.polls > polls + 3)
        assert replica.world().version == first.version
        assert (lines.count(LOST), lines.count(RECOVERED)) == (1, 0)
        heal(server)
        second = await after_publish(server, numbered(2))
        await settled(lambda: replica.world().version == second.version)
        assert (lines.count(LOST), lines.count(RECOVERED), replica.world().shared.redis) == (1, 1, RedisState.CURRENT)
        await settled(lambda: replica.tally.listening)


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_no_snapshot_is_not_taken(server: RedisServer, lines: list[str], name: str) -> None:
    """A value that is not what was published changes nothing, and a good one replaces it."""
    asyncio.run(_survive(server, UNUSABLE[name], RedisState.UNUSABLE, lambda _: None, lines))


def wrong_password(server: RedisServer) -> None:
    """Come back with a password that nobody told us."""
    server.stop()
    server.password = "changed"
    server.start()


def no_password(server: RedisServer) -> None:
    """Come back as before."""
    server.stop()
    server.password = None
    server.start()


@pytest.mark.parametrize(
    ("harm", "heal"),
    [(RedisServer.stop, RedisServer.start), (RedisServer.freeze, RedisServer.thaw), (wrong_password, no_password)],
    ids=["stopped", "frozen", "wrong password"],
)
def test_a_redis_that_does_not_answer_is_waited_out(
    server: RedisServer, lines: list[str], harm: Harm, heal: Harm
) -> None:
    """The snapshot answers until Redis is back, and what is published then is taken."""
    asyncio.run(_survive(server, harm, RedisState.UNAVAILABLE, heal, lines))


def test_absent_at_the_start_then_up(server: RedisServer, lines: list[str]) -> None:
    """The release's snapshot answers first, and the shared one as soon as there is a Redis."""
    server.stop()

    async def begin() -> None:
        replica = follower(server, poll_seconds=0.1)
        async with replica.running(wait_seconds=0.2):
            assert replica.world().version == bundled().version
            await settled(lambda: replica.world().shared.redis is RedisState.UNAVAILABLE)
            server.start()
            first = await after_publish(server, numbered(1))
            await settled(lambda: replica.world().version == first.version)
        assert (lines.count(LOST), lines.count(RECOVERED)) == (1, 1)

    asyncio.run(begin())


@pytest.mark.parametrize("restarted", [False, True], ids=["flushed", "restarted empty"])
def test_a_redis_that_forgot_everything_changes_nothing(
    server: RedisServer, lines: list[str], *, restarted: bool
) -> None:
    """One line says that it is empty; a restart is an outage besides, if it was long enough to be seen."""

    async def forget() -> None:
        replica = follower(server, poll_seconds=0.05)
        async with replica.running(wait_seconds=5):
            first = await after_publish(server, numbered(1))
            await settled(lambda: replica.world().version == first.version)
            if restarted:
                server.stop()
                await settled(lambda: LOST in lines)
                server.start()
            else:
                server.ask("FLUSHALL")
            await settled(lambda: replica.world().shared.redis is RedisState.EMPTY)
            polls = replica.tally.polls
            await settled(lambda: replica.tally.polls > polls + 3)
            assert replica.world().version == first.version
            assert lines.count(EMPTIED) == 1
            assert lines.count(LOST) == lines.count(RECOVERED) == int(restarted)
            second = await after_publish(server, numbered(2))
            await settled(lambda: replica.world().version == second.version)

    asyncio.run(forget())


def test_other_releases_publish_beside_ours(server: RedisServer, lines: list[str]) -> None:
    """During a rolling update each release follows the snapshot of its own schema."""

    async def roll() -> None:
        replica = follower(server)
        async with replica.running(wait_seconds=5):
            first = await after_publish(server, numbered(1))
            await settled(lambda: replica.world().version == first.version)
            for schema in (SCHEMA - 1, SCHEMA + 1):
                name = KEYS.head.replace(f":{SCHEMA}:", f":{schema}:")
                assert name != KEYS.head
                server.ask("SET", name, "what another release writes")
            polls = replica.tally.polls
            await settled(lambda: replica.tally.polls > polls + 3)
            assert (replica.world().version, replica.world().shared.redis) == (first.version, RedisState.CURRENT)
        assert LOST not in lines

    asyncio.run(roll())


async def _readable(server: RedisServer, harm: Harm, lines: list[str], refused: type[RedisError]) -> None:
    """Under *harm* nothing can be published, and everything can be read, by a process that starts now too."""
    replica = follower(server, poll_seconds=0.05)
    async with replica.running(wait_seconds=5):
        first = await after_publish(server, numbered(1))
        await settled(lambda: replica.world().version == first.version)
        harm(server)
        with pytest.raises(refused):
            await after_publish(server, numbered(2))
        late = follower(server)
        async with late.running(wait_seconds=5):
            await settled(lambda: late.world().version == first.version)
        polls = replica.tally.polls
        await settled(lambda: replica.tally.polls > polls + 3)
        assert (replica.world().version, replica.world().shared.redis) == (first.version, RedisState.CURRENT)
    assert LOST not in lines


def test_no_memory_left_means_no_publish_but_no_outage(server: RedisServer, lines: list[str]) -> None:
    """The publisher is told, and what was published before stands whole."""

    def full(server: RedisServer) -> None:
        server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        server.ask("CONFIG", "SET", "maxmemory", "1mb")

    asyncio.run(_readable(server, full, lines, redis.exceptions.ResponseError))


def test_a_read_only_replica_can_be_followed(server: RedisServer, lines: list[str]) -> None:
    """A server that was demoted refuses publishes and goes on naming what it has."""

    def demote(server: RedisServer) -> None:
        server.ask("REPLICAOF", "127.0.0.1", "1")

    asyncio.run(_readable(server, demote, lines, redis.exceptions.ReadOnlyError))


@pytest.mark.slow
def test_answers_two_seconds_late_still_bring_the_snapshot(server: RedisServer, lines: list[str]) -> None:
    """Nobody waits for Redis, so that it may take its time: a slow line is no outage."""

    async def late() -> None:
        proxy = Proxy(server)
        proxy.late_seconds = 2.0
        async with proxy.running():
            replica = Follower(bundled(), Link(parse(proxy.url)), KEYS, poll_seconds=0.2)
            async with replica.running(wait_seconds=0.1):
                first = await after_publish(server, numbered(1))
                await settled(lambda: replica.world().version == first.version, seconds=15)
            assert LOST not in lines

    asyncio.run(late())


def test_a_late_line_does_not_mix_up_answers(server: RedisServer, lines: list[str]) -> None:
    """Answers that come after we gave up on them are not taken for the answers to later questions."""

    async def impatient() -> None:
        proxy = Proxy(server)
        first = await after_publish(server, numbered(1))
        async with proxy.running():
            replica = Follower(bundled(), Link(parse(proxy.url), answer_seconds=0.2), KEYS, poll_seconds=0.05)
            async with replica.running(wait_seconds=5):
                await settled(lambda: replica.world().version == first.version)
                for late in (0.25, 0.0, 0.3, 0.0):
                    proxy.late_seconds = late
                    polls = replica.tally.polls
                    await settled(lambda polls=polls: replica.tally.polls > polls + 2)  # type: ignore[misc]
                second = await after_publish(server, numbered(2))
                await settled(lambda: replica.world().version == second.version)
        assert lines.count(LOST) == lines.count(RECOVERED) == 2

    asyncio.run(impatient())
