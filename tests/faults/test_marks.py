"""How soon a publish is seen, what a new snapshot costs the event loop, and how soon a process is ready."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.following import after_publish, follower, settled
from tests.redis_server import RedisServer
from tests.served import Served
from tests.snapshots import large, numbered

LARGE = 1560
"""Offers in a snapshot of 1.5 MB."""


@pytest.mark.slow
def test_a_publish_is_seen_in_other_processes_within_100_ms(server: RedisServer, tmp_path: Path) -> None:
    """The median of nine publishes, from the transaction to the answer of two served processes that never poll."""
    environ = {"CARDMATCH_REDIS_URL": server.url, "CARDMATCH_REDIS_POLL_SECONDS": "600"}
    asyncio.run(after_publish(server, numbered(0)))
    served = [Served(tmp_path, **environ) for _ in range(2)]
    try:
        for each in served:
            _until(lambda each=each: each.get("/catalogue")["shared"]["redis"] == "current")  # type: ignore[misc]
        time.sleep(0.5)  # until both listen
        seconds = []
        for number in range(1, 10):
            version = asyncio.run(after_publish(server, numbered(number))).version
            began = time.monotonic()
            for each in served:
                _until(lambda each=each, version=version: each.get("/readyz")["catalogue"] == version)  # type: ignore[misc]
            seconds.append(time.monotonic() - began)
        assert statistics.median(seconds) <= 0.1, seconds
    finally:
        for each in served:
            each.stop()


def _until(happened: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < 10
        time.sleep(0.002)


def test_without_announcements_a_publish_is_seen_by_the_next_poll(server: RedisServer) -> None:
    """Where subscribing is not allowed, or messages get lost, it takes at most the poll time."""
    server.ask("ACL", "SETUSER", "default", "-subscribe")
    poll = 0.5

    async def see() -> list[float]:
        replica, seconds = follower(server, poll_seconds=poll), []
        loop = asyncio.get_running_loop()
        async with replica.running(wait_seconds=5):
            for number in range(1, 6):
                head = await after_publish(server, numbered(number))
                began = loop.time()
                await settled(lambda head=head: replica.world().version == head.version)  # type: ignore[misc]
                seconds.append(loop.time() - began)
            assert not replica.tally.listening
        return seconds

    assert max(asyncio.run(see())) <= poll * 1.1 + 0.2


def test_a_large_snapshot_costs_the_event_loop_ten_milliseconds(server: RedisServer) -> None:
    """1.5 MB from Redis to answers: CPU time of the loop's thread, and the longest that anything else has to wait."""

    async def swap(pause: float) -> list[tuple[float, float]]:
        replica, costs = follower(server, poll_seconds=60), []
        raws = [large(number, LARGE) for number in range(6)]
        assert all(len(raw) >= 1_500_000 for raw in raws)
        async with replica.running(wait_seconds=5):
            await settled(lambda: replica.tally.listening)
            for raw in raws:
                head = await after_publish(server, raw)  # in this loop too; what it costs ends before the poll begins
                used, longest = time.thread_time(), 0.0
                while replica.world().version != head.version:
                    before = time.perf_counter()
                    await asyncio.sleep(pause)
                    longest = max(longest, time.perf_counter() - before - pause)
                costs.append((time.thread_time() - used, longest))
        return costs

    # Looking closely for how long one has to wait costs time too; so what it costs is looked at from afar.
    spent, waited = asyncio.run(swap(0.02)), asyncio.run(swap(0.0005))
    assert min(cpu for cpu, _ in spent) <= 0.010, spent
    assert min(longest for _, longest in waited) <= 0.010, waited


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [False, True], ids=["with Redis", "with a Redis that hangs"])
def test_a_process_is_ready_within_a_second(server: RedisServer, tmp_path: Path, *, frozen: bool) -> None:
    """The least of three starts, counted in CPU time of all its processes, since others use the machine too.

    With a Redis that hangs it waits a tenth of a second besides, and no longer.
    """
    asyncio.run(after_publish(server, numbered(1)))
    if frozen:
        server.freeze()
    seconds = []
    for _ in range(3):
        served = Served(tmp_path, CARDMATCH_REDIS_URL=server.url)
        seconds.append((served.worked_seconds + 0.1 * frozen, served.ready_after_seconds))
        served.stop()
    assert min(min(start) for start in seconds) <= 1.0, seconds


def test_no_password_is_logged(server: RedisServer, tmp_path: Path) -> None:
    """Neither a right one nor a wrong one, whatever happens; the address is, so that one can see what was meant."""
    url = f"unix://somebody:wrong-secret@{server.socket}"
    served = Served(
        tmp_path, CARDMATCH_REDIS_URL=url, CARDMATCH_HUB_URL="http://127.0.0.1:1", CARDMATCH_HUB_TOKEN="hf_x"
    )
    try:
        _until(lambda: served.get("/catalogue")["shared"]["redis"] == "unavailable")
    finally:
        served.stop()
    log = served.log.read_text()
    assert served.events().count("catalogue.redis_lost") == 1
    assert str(server.socket) in log
    assert "wrong-secret" not in log
    assert "hf_x" not in log
