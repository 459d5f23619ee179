"""Guests from a hub: asked for once, remembered in the process and in Redis, and never worth an error.

Where the hub is away, slow, or does not know a model, there is no guest; the answer then asks for the model's config.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec
import structlog
from redis.exceptions import RedisError

from cardmatch.catalogue.guests import Guest, is_hub_id
from cardmatch.catalogue.hub.client import Failed, HubClient, NotThere
from cardmatch.catalogue.hub.memory import Memory
from cardmatch.catalogue.shared.connect import Link

_log = structlog.get_logger(__name__)
_KNOWN_SECONDS = 3600
_SHARED_SECONDS = 24 * 3600
_UNKNOWN_SECONDS = 300
_FAILED_SECONDS = 30
# After so many failures in a row the hub is left alone for a while, so that questions do not wait for it in vain.
_FAILURES = 3
_LEFT_ALONE_SECONDS = 20
_MOST_AT_ONCE = 8
_MOST_WAITING = 64
_REDIS_SECONDS = 0.25
_NOBODY = b"null"


class Hub:
    """The hub behind *client*; *link* is the Redis that other processes share, if any."""

    def __init__(self, client: HubClient, link: Link | None = None, namespace: str = "cardmatch") -> None:
        """Nothing is asked yet."""
        self._client, self._link, self._namespace = client, link, namespace
        self._memory = Memory()
        self._asking: dict[str, asyncio.Task[bytes]] = {}
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)
        self._failures, self._left_alone_until = 0, 0.0

    async def aclose(self) -> None:
        """Stop asking, and close every connection; that to Redis belongs to somebody else."""
        for task in list(self._asking.values()):
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        await self._client.aclose()

    async def model(self, id_: str) -> Guest | None:
        """The model *id_*, None where there is none to be had now."""
        if not is_hub_id(id_):
            return None
        kept = self._memory.recall(id_, _now())
        if kept is None:
            task = self._asking.get(id_)
            if task is None:
                if len(self._asking) >= _MOST_WAITING:
                    return None
                task = asyncio.create_task(self._ask(id_))
                self._asking[id_] = task
                task.add_done_callback(lambda _: self._asking.pop(id_, None))
            kept = await asyncio.shield(task)  # others may wait for it when this one goes away
        return _guest(kept, id_)

    async def _ask(self, id_: str) -> bytes:
        """What to remember of *id_*: from Redis, else from the hub."""
        shared = await self._shared(id_)
        if shared is not None:
            self._memory.keep(id_, shared, _now() + (_UNKNOWN_SECONDS if shared == _NOBODY else _KNOWN_SECONDS))
            return shared
        async with self._places:
            if _now() < self._left_alone_until:
                return _NOBODY
            try:
                found, seconds, shared_seconds = await self._fetched(id_), _KNOWN_SECONDS, _SHARED_SECONDS
            except NotThere:
                found, seconds, shared_seconds = _NOBODY, _UNKNOWN_SECONDS, _UNKNOWN_SECONDS
            except Failed as problem:
                self._note_failure(problem)
                self._memory.keep(id_, _NOBODY, _now() + _FAILED_SECONDS)
                return _NOBODY
        if self._failures >= _FAILURES:
            _log.info("hub.recovered")
        self._failures = 0
        self._memory.keep(id_, found, _now() + seconds)
        await self._share(id_, found, shared_seconds)
        return found

    async def _fetched(self, id_: str) -> bytes:
        return msgspec.json.encode(await self._client.model(id_))

    def _note_failure(self, problem: Failed) -> None:
        """One line when an outage begins; a single failure may be one model's."""
        self._failures += 1
        if self._failures >= _FAILURES:
            self._left_alone_until = _now() + _LEFT_ALONE_SECONDS
        if self._failures == _FAILURES:
            _log.warning("hub.lost", error=str(problem))

    async def _shared(self, id_: str) -> bytes | None:
        """What Redis remembers, if it says so at once and it is what we would have written."""
        if self._link is None:
            return None
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(_REDIS_SECONDS):
                found = await self._link.client.get(self._key(id_))
                if isinstance(found, bytes) and (found == _NOBODY or _guest(found, id_) is not None):
                    return found
        return None

    async def _share(self, id_: str, value: bytes, seconds: int) -> None:
        if self._link is not None:
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                async with asyncio.timeout(_REDIS_SECONDS):
                    await self._link.client.set(self._key(id_), value, ex=seconds)

    def _key(self, id_: str) -> str:
        return f"{{{self._namespace}}}:hub:1:{id_}"


def _guest(kept: bytes, id_: str) -> Guest | None:
    try:
        guest = msgspec.json.decode(kept, type=Guest | None)
    except (msgspec.DecodeError, RecursionError):
        return None
    return guest if guest is not None and guest.id == id_ else None


def _now() -> float:
    return asyncio.get_running_loop().time()
