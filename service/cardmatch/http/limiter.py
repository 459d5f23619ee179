"""The rate limit that all replicas share: one script in Redis, on the clock of Redis, and open while Redis is away.

The generic cell rate algorithm (GCRA; ITU-T I.371): a client has a theoretical arrival time, which each request moves
on by one interval; a request that comes more than a burst too early waits. All requests that a worker is asked about at
the same time are one call, over one connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

import structlog
from redis.exceptions import NoScriptError, RedisError

from cardmatch.catalogue.shared.connect import Link

_log = structlog.get_logger(__name__)
PATIENCE_SECONDS = 0.05
_RETRY_SECONDS = 1.0
_BATCH = 64
_Trouble = (RedisError, OSError, TimeoutError)

# Times are whole microseconds, which a double holds exactly. Keys expire when they would no longer hold anything up.
# No request moves a time further on than a whole burst; one that lies there was written by a clock that has since gone
# back, and must not hold its client up for as long as the clock was wrong.
_GCRA = """
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local waits = {}
for i, key in ipairs(KEYS) do
  local due = math.max(tonumber(redis.call('GET', key) or now), now)
  due = math.min(due, now + burst * interval)
  local wait = due - (burst - 1) * interval - now
  if wait > 0 then
    waits[i] = wait
  else
    local next = due + interval
    redis.call('SET', key, string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000) + 1)
    waits[i] = 0
  end
end
return waits
"""


class Limiter:
    """*burst* requests at once, then *per_minute*, for each client; counts what it decides in *outcomes*."""

    def __init__(self, link: Link, namespace: str, *, per_minute: float, burst: int, outcomes: Counter[str]) -> None:
        """Nothing is asked before it is `running`; until then everybody may."""
        self._link = link
        self._prefix = f"{{{namespace}}}:limit:"
        self._arguments = (round(60e6 / per_minute), burst)
        self._outcomes = outcomes
        self._pending: list[tuple[str, asyncio.Future[float]]] = []
        self._wake = asyncio.Event()
        self._digest = ""
        self._up = self._told = False

    async def wait(self, client: str) -> float:
        """Seconds until *client* may send again: 0.0 if it may now, or if nobody can tell within PATIENCE_SECONDS."""
        if not self._up:
            self._outcomes["failed_open"] += 1
            return 0.0
        future = asyncio.get_running_loop().create_future()
        self._pending.append((self._prefix + client, future))
        self._wake.set()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                seconds: float = await future
        except _Trouble:
            self._outcomes["failed_open"] += 1
            return 0.0
        self._outcomes["refused" if seconds > 0 else "admitted"] += 1
        return seconds

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Decide while the block runs, which begins when Redis answered once or was found away."""
        self._up = await self._reach()
        task = asyncio.create_task(self._decide_forever())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task], timeout=1)
            self._fail_pending()
            with contextlib.suppress(*_Trouble):
                await self._link.aclose()

    async def _decide_forever(self) -> None:
        while True:
            if not self._up:
                await asyncio.sleep(_RETRY_SECONDS)
                self._up = await self._reach()
                continue
            await self._wake.wait()
            self._wake.clear()
            while self._pending and self._up:
                batch, self._pending = self._pending[:_BATCH], self._pending[_BATCH:]
                await self._decide(batch)

    async def _decide(self, batch: list[tuple[str, asyncio.Future[float]]]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                waits = await self._ask([key for key, _ in batch])
        except _Trouble as problem:
            self._up = False
            self._tell(problem)
            self._pending = batch + self._pending
            self._fail_pending()
            return
        for (_, future), microseconds in zip(batch, waits, strict=True):
            if not future.done():
                future.set_result(microseconds / 1e6)

    async def _ask(self, keys: list[str]) -> list[int]:
        try:
            waits = await self._link.client.evalsha(self._digest, len(keys), *keys, *self._arguments)
        except NoScriptError:  # another server took over, or forgot
            waits = await self._link.client.eval(_GCRA, len(keys), *keys, *self._arguments)
        return [int(wait) for wait in waits]

    async def _reach(self) -> bool:
        """Connect and load the script; whether that worked. It may take longer than a request would wait."""
        try:
            self._digest = await self._link.client.script_load(_GCRA)
            await self._ask([])
        except _Trouble as problem:
            self._tell(problem)
            return False
        if self._told:
            self._told = False
            _log.info("limiter.recovered")
        return True

    def _tell(self, problem: Exception) -> None:
        """One line an outage."""
        if not self._told:
            self._told = True
            _log.warning("limiter.failing_open", error=self._link.describe(problem))

    def _fail_pending(self) -> None:
        for _, future in self._pending:
            if not future.done():
                future.set_exception(TimeoutError())
        self._pending = []
