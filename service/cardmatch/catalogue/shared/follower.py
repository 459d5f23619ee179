"""Follows the snapshot that Redis names, in the background: answers read `world()` and never wait.

A poll looks for another head; a publish is also announced, which only shortens the wait for the next poll. Whatever
Redis does, the last good snapshot stays. An outage is logged once when it begins and once when it is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import random
from collections.abc import AsyncIterator

import msgspec
import structlog
from redis.exceptions import RedisError

from cardmatch.catalogue.shared.connect import Link
from cardmatch.catalogue.shared.load import load_gently
from cardmatch.catalogue.shared.state import RedisState, Sharing, Tally
from cardmatch.catalogue.shared.store import Head, Keys, Unusable, parse_head, read_head, read_snapshot
from cardmatch.catalogue.snapshot import SnapshotError
from cardmatch.catalogue.world import KEPT, World, succeed

_log = structlog.get_logger(__name__)
# A poll reads a head and perhaps a snapshot, each within connect.ANSWER_SECONDS and once more; nobody waits for it.
_POLL_SECONDS = 30.0
# Announcements may come faster than it makes sense to look.
_LEAST_PAUSE_SECONDS = 0.02
# A snapshot that was found unusable is read again this often, in case somebody repaired it under the same head.
_RETRY_UNUSABLE_SECONDS = 60.0
_BAD = {RedisState.UNAVAILABLE, RedisState.UNUSABLE}
_Trouble = (RedisError, OSError, TimeoutError, Unusable)


class Follower:
    """The snapshot that answers, and what keeps it fresh while `running`."""

    def __init__(self, world: World, link: Link, keys: Keys, *, poll_seconds: float = 5.0) -> None:
        """Answer from *world* until Redis names another, looking every *poll_seconds*, give or take a tenth."""
        self._world = msgspec.structs.replace(world, shared=_sharing(RedisState.WAITING))
        self.link, self._keys, self._poll_seconds = link, keys, poll_seconds
        self._wake, self._first, self._answering = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._rejected: tuple[bytes, float, str] | None = None
        self._filled: bytes = b""
        self._state_since = 0.0
        self.tally = Tally()

    def world(self) -> World:
        """The snapshot to answer from."""
        return self._world

    @contextlib.asynccontextmanager
    async def running(self, *, wait_seconds: float = 0.0) -> AsyncIterator[None]:
        """Follow while the block runs, which begins after the first poll or *wait_seconds*, whichever is sooner."""
        tasks = [asyncio.create_task(self._poll_forever()), asyncio.create_task(self._listen_forever())]
        try:
            await _wait(self._first, wait_seconds)
            yield
        finally:
            # Before Python 3.12 `asyncio.wait_for`, which the client uses, may lose a cancellation.
            while not all(task.done() for task in tasks):
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=0.05)
            with contextlib.suppress(*_Trouble):
                await self.link.aclose()

    async def poll(self) -> None:
        """Look once. Trouble ends up in the state and the log, never here."""
        self.tally.polls += 1
        try:
            async with asyncio.timeout(_POLL_SECONDS):
                raw = await read_head(self.link.client, self._keys)
                head = await self._follow(raw)
        except Unusable as problem:
            self._fail(RedisState.UNUSABLE, problem)
        except _Trouble as problem:
            self._fail(RedisState.UNAVAILABLE, problem)
        except Exception as problem:  # noqa: BLE001 - a mistake of ours must not end the polls; it is logged whole
            self._fail(RedisState.UNUSABLE, problem, stack=problem)
        else:
            if head is not None and raw != self._filled:
                self._filled = raw
                await self._keep_earlier(head)

    async def _follow(self, raw: bytes) -> Head | None:
        """Take what the head in *raw* names, if it is another snapshot. Raises Unusable, RedisError."""
        if not raw:
            self._enter(RedisState.EMPTY)
            return None
        head = parse_head(raw)
        if head.version != self._world.version:
            await self._take(head, raw)
        self._enter(RedisState.CURRENT, head.published_at)
        return head

    async def _take(self, head: Head, raw: bytes) -> None:
        now = asyncio.get_running_loop().time()
        if self._rejected and self._rejected[0] == raw and now - self._rejected[1] < _RETRY_UNUSABLE_SECONDS:
            raise Unusable(self._rejected[2])
        try:
            world = await self._load(head.version)
        except Unusable as problem:
            self._rejected = (raw, now, str(problem))
            raise
        self._rejected = None
        self._world = succeed(self._world, msgspec.structs.replace(world, shared=self._world.shared))
        self.tally.swaps += 1
        _log.info("catalogue.changed", version=world.version, as_of=world.as_of, published_at=head.published_at)

    async def _load(self, version: str) -> World:
        raw = await read_snapshot(self.link.client, self._keys, version)
        try:
            return await load_gently(raw, version)
        except SnapshotError as problem:
            raise Unusable(str(problem)) from problem

    async def _keep_earlier(self, head: Head) -> None:
        """Have what the head still keeps at hand, so that requests may pin it here as anywhere else."""
        known = {world.version: world for world in (self._world, *self._world.earlier)}
        for version in head.earlier:
            if version not in known:
                # One that is gone cannot be pinned; whether Redis itself is, the next poll will tell.
                with contextlib.suppress(*_Trouble):
                    known[version] = await self._load(version)
        order = dict.fromkeys([*head.earlier, *(world.version for world in self._world.earlier)])
        kept = [known[version] for version in order if version in known and version != self._world.version]
        earlier = tuple([msgspec.structs.replace(world, earlier=()) for world in kept[:KEPT]])
        self._world = msgspec.structs.replace(self._world, earlier=earlier)

    def _enter(self, state: RedisState, published_at: dt.datetime | None = None) -> None:
        """Redis answered, with a snapshot or without."""
        self._answering.set()
        self.tally.answered_at = asyncio.get_running_loop().time()
        before = self._world.shared.redis
        if published_at is None:
            published_at = self._world.shared.published_at
        if before in _BAD:
            seconds = round(self.tally.answered_at - self._state_since, 3)
            _log.info("catalogue.redis_recovered", after_seconds=seconds, version=self._world.version)
        if state is RedisState.EMPTY and before is not state and self._world.shared.published_at is not None:
            _log.warning("catalogue.redis_emptied", version=self._world.version)
        self._become(state, published_at)

    def _fail(self, state: RedisState, problem: Exception, stack: Exception | None = None) -> None:
        self.tally.failed_polls += 1
        if state is RedisState.UNAVAILABLE:
            self._answering.clear()
        if self._world.shared.redis is not state:
            self.tally.outages += 1
            error = self.link.describe(problem)
            _log.warning("catalogue.redis_lost", state=state, error=error, version=self._world.version, exc_info=stack)
        self._become(state, self._world.shared.published_at)

    def _become(self, state: RedisState, published_at: dt.datetime | None) -> None:
        shared = self._world.shared
        if shared.redis is not state:
            self._state_since = asyncio.get_running_loop().time()
            shared = _sharing(state)
        shared = msgspec.structs.replace(shared, published_at=published_at)
        if shared != self._world.shared:
            self._world = msgspec.structs.replace(self._world, shared=shared)

    async def _poll_forever(self) -> None:
        while True:
            self._wake.clear()
            await self.poll()
            self._first.set()
            await asyncio.sleep(_LEAST_PAUSE_SECONDS)
            await _wait(self._wake, self._pause())

    async def _listen_forever(self) -> None:
        """Hear announcements while Redis answers; where that ends, polls go on and it is tried again."""
        while True:
            await self._answering.wait()
            try:
                await self._listen()
            except Exception as problem:  # noqa: BLE001 - polls find whatever was not heard, and log what is wrong
                _log.debug("catalogue.not_listening", error=self.link.describe(problem))
            self.tally.listening = False
            self._wake.set()
            await asyncio.sleep(self._pause())

    async def _listen(self) -> None:
        """Wake the poll at each announcement, and once at the beginning: something may have been missed."""
        async with self.link.client.pubsub() as subscription:
            await subscription.subscribe(self._keys.channel)
            while self._answering.is_set():  # a connection that hangs would say nothing for ever
                if await subscription.get_message(timeout=self._poll_seconds) is not None:
                    self.tally.listening = True
                    self._wake.set()

    def _pause(self) -> float:
        return self._poll_seconds * random.uniform(0.9, 1.1)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Until *event* or so long. Not `asyncio.wait_for`, which loses a cancellation that comes with the event."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _sharing(state: RedisState) -> Sharing:
    return Sharing(redis=state, since=dt.datetime.now(dt.UTC).replace(microsecond=0))
