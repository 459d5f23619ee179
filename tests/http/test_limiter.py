"""The rate limit over replicas, with real Redis servers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cardmatch.http.limiter import Limiter
from cardmatch.http.router import Surroundings, build
from cardmatch.settings import Settings
from tests.http.asking import ask, asking
from tests.http.sample import ASK, SHOW, Snapshot
from tests.redis_server import RedisServer, programs


@pytest.fixture(params=sorted(programs()))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    """Each brand and version that is there."""
    server = RedisServer(tmp_path / "r", program=programs()[request.param])
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _limiter(server: RedisServer, *, per_minute: float = 60.0, burst: int = 100) -> Limiter:
    return Limiter(server.link(), "test", per_minute=per_minute, burst=burst, outcomes=Counter())


def test_two_replicas_let_exactly_the_budget_through(server: RedisServer) -> None:
    """Of 300 requests at once, half to each, 100 pass; in an hour that a second feels like, none is added."""

    async def race() -> list[float]:
        a, b = (_limiter(server, per_minute=1 / 60) for _ in range(2))
        async with a.running(), b.running():
            waits: list[float] = []
            for _ in range(15):
                waits += await asyncio.gather(*(limiter.wait("x") for _ in range(10) for limiter in (a, b)))
            assert not a._outcomes["failed_open"]
            assert not b._outcomes["failed_open"]
            return waits

    waits = asyncio.run(race())
    assert sum(wait == 0 for wait in waits) == 100
    assert 3590 < max(waits) <= 3600


def test_budgets_are_apart_and_fill_up_again(server: RedisServer) -> None:
    """Another client is not held up, and after the time that was said the first may go on."""

    async def ask_in_turn() -> None:
        limiter = _limiter(server, per_minute=300, burst=2)
        async with limiter.running():
            assert [await limiter.wait("x") for _ in range(2)] == [0, 0]
            wait = await limiter.wait("x")
            assert 0 < wait <= 0.2
            assert await limiter.wait("y") == 0
            await asyncio.sleep(wait + 0.01)
            assert await limiter.wait("x") == 0
            assert await limiter.wait("x") > 0

    asyncio.run(ask_in_turn())


def test_keys_in_redis_expire(server: RedisServer) -> None:
    """Nothing is kept about a client longer than it could matter."""

    async def once() -> None:
        limiter = _limiter(server, per_minute=600, burst=1)
        async with limiter.running():
            await limiter.wait("ip:192.0.2.1")

    asyncio.run(once())
    remaining = server.ask("PTTL", "{test}:limit:ip:192.0.2.1")
    assert isinstance(remaining, int)
    assert remaining <= 101


def test_a_clock_of_redis_that_went_back_holds_nobody_up(server: RedisServer) -> None:
    """What was written an hour ahead of now counts as a budget that is used up, not as an hour to wait."""

    async def after_the_jump() -> list[float]:
        limiter = _limiter(server, per_minute=600, burst=5)
        async with limiter.running():
            seconds, microseconds = server.ask("TIME")  # type: ignore[misc] # two numbers
            ahead = (int(seconds) + 3600) * 1_000_000 + int(microseconds)  # type: ignore[has-type]
            server.ask("SET", "{test}:limit:x", str(ahead))
            waits = [await limiter.wait("x")]
            await asyncio.sleep(waits[0] + 0.01)
            return [*waits, await limiter.wait("x")]

    first, second = asyncio.run(after_the_jump())
    assert 0 < first <= 0.1
    assert second <= 0.1


def test_it_opens_within_50_milliseconds_when_redis_hangs_and_closes_again(server: RedisServer) -> None:
    """The first requests find out, the others do not wait at all; one line says so, and one when it is over."""

    async def outage() -> None:
        limiter = _limiter(server, burst=1, per_minute=0.1)
        async with limiter.running():
            assert await limiter.wait("x") == 0
            server.freeze()
            started = time.perf_counter()
            assert await asyncio.gather(*(limiter.wait("x") for _ in range(20))) == [0] * 20
            assert time.perf_counter() - started < 0.2
            started = time.perf_counter()
            assert [await limiter.wait("x") for _ in range(100)] == [0] * 100
            assert time.perf_counter() - started < 0.05
            assert limiter._outcomes["failed_open"] == 120
            server.thaw()
            for _ in range(100):
                await asyncio.sleep(0.1)
                if await limiter.wait("x") > 0:
                    return
            raise AssertionError("it never closed again")

    with capture_logs() as lines:
        asyncio.run(outage())
    assert [line["event"] for line in lines] == ["limiter.failing_open", "limiter.recovered"]


def test_without_redis_it_starts_open(tmp_path: Path) -> None:
    """A limit that cannot be counted must not keep the service from starting."""
    limiter = _limiter(RedisServer(tmp_path / "r", program=next(iter(programs().values()))))

    async def start() -> float:
        async with limiter.running():
            return await limiter.wait("x")

    assert asyncio.run(start()) == 0
    assert limiter._outcomes == {"failed_open": 1}


def test_a_redis_that_forgot_the_script_is_given_it_again(server: RedisServer) -> None:
    """Another server may have taken over."""

    async def forget() -> float:
        limiter = _limiter(server, burst=1)
        async with limiter.running():
            await limiter.wait("x")
            server.ask("SCRIPT", "FLUSH")
            return await limiter.wait("x")

    assert asyncio.run(forget()) > 0


class _Empty:
    async def wait(self, client: str) -> float:
        """Say that the budget of *client* is used up."""
        return 0.2 if client.startswith("ip:") else 0.0


def test_who_is_over_the_limit_is_told_when_to_come_back() -> None:
    """429 as a problem with Retry-After in whole seconds, before the body is read; probes go on."""
    app = build((ASK, SHOW), Snapshot, Settings(), Surroundings(limiter=_Empty()))
    response = ask(app, "POST", "/ask", "not even json")
    assert (response.status, response.headers["retry-after"]) == (429, "1")
    assert response.json()["type"] == "/docs/problems/too_many_requests"
    assert ask(app, "GET", "/livez").status == ask(app, "GET", "/metrics").status == 200


def test_a_key_has_a_budget_of_its_own() -> None:
    """Two keys behind one address do not take each other's."""
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    app = build((ASK, SHOW), Snapshot, Settings(api_keys=f"me={digest}"), Surroundings(limiter=_Empty()))
    response = asyncio.run(asking(app, "GET", "/things/l4", headers={"x-api-key": "abc"}))
    assert response.status == 200
