"""Publish and follow on every server that this machine has: Redis 6 and newer, Valkey."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.following import after_publish, follower, settled
from tests.redis_server import RedisServer, programs
from tests.snapshots import numbered


async def _publish_and_follow(server: RedisServer) -> None:
    one = follower(server)
    async with one.running(wait_seconds=5):
        first = await after_publish(server, numbered(1))
        await settled(lambda: one.world().version == first.version)
        second = await after_publish(server, numbered(2))
        await settled(lambda: one.world().version == second.version)
        assert second.earlier == (first.version,)
        assert one.world().earlier[0].version == first.version
    late = follower(server)
    async with late.running(wait_seconds=5):
        await settled(lambda: bool(late.world().earlier))
        assert [world.version for world in late.world().earlier][:1] == [first.version]


def test_every_server_here_serves_the_snapshot(tmp_path: Path) -> None:
    """What one process publishes, another answers from, and one that starts later keeps what could be pinned."""
    found = programs()
    assert found
    for name, program in found.items():
        server = RedisServer(tmp_path / name, program=program)
        server.start()
        try:
            asyncio.run(_publish_and_follow(server))
        finally:
            server.stop()
