"""What lies in Redis: a head that names the current snapshot, and snapshots under the hash of their content.

Every key holds the schema, so that releases of two schemas live side by side during a rolling update, and the
namespace in braces, so that a cluster keeps them on one node. A snapshot never changes under its key: what a reader
gets is what the hash says, or worthless.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta
from redis.asyncio import Redis
from redis.exceptions import ResponseError, WatchError

from cardmatch.catalogue.shared.connect import Client
from cardmatch.catalogue.shared.standing import Overtaken
from cardmatch.catalogue.snapshot import SCHEMA, version_of
from cardmatch.catalogue.world import KEPT

LARGEST_SNAPSHOT_BYTES = 32 << 20
_LARGEST_HEAD_BYTES = 4096
# A version that no head names any more: long enough for a reader that is about to fetch it.
_LEAVES_AFTER_SECONDS = 3600

Version = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class Unusable(Exception):  # noqa: N818 - what Redis holds is
    """Redis holds something else than a published snapshot."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Which snapshot is current, since when, and which ones before it are kept."""

    version: Version
    published_at: dt.datetime
    earlier: Annotated[tuple[Version, ...], Meta(max_length=KEPT)] = ()


class Keys(msgspec.Struct, frozen=True):
    """The names of everything that we keep in Redis below *namespace*."""

    namespace: str

    @property
    def head(self) -> str:
        """The key of the head."""
        return f"{{{self.namespace}}}:catalogue:{SCHEMA}:head"

    @property
    def channel(self) -> str:
        """The channel on which a publish is announced."""
        return f"{{{self.namespace}}}:catalogue:{SCHEMA}:published"

    def snapshot(self, version: str) -> str:
        """The key of the snapshot called *version*."""
        return f"{{{self.namespace}}}:catalogue:{SCHEMA}:snapshot:{version}"


async def read_head(client: Client, keys: Keys) -> bytes:
    """What stands for a head; empty where there is none. Raises Unusable for a value of another type, RedisError."""
    return await _bytes(client, keys.head, _LARGEST_HEAD_BYTES)


def parse_head(raw: bytes) -> Head:
    """The head in *raw*. Raises Unusable."""
    try:
        return msgspec.json.decode(raw, type=Head)
    except msgspec.DecodeError as problem:
        raise Unusable(f"the head is none: {problem}") from problem


async def read_snapshot(client: Client, keys: Keys, version: str) -> bytes:
    """The bytes of *version*, whose hash is that. Raises Unusable where they are not there or not these, RedisError."""
    raw = await _bytes(client, keys.snapshot(version), LARGEST_SNAPSHOT_BYTES)
    if not raw:
        raise Unusable(f"no snapshot {version[:12]}")
    hashed = await asyncio.to_thread(version_of, raw)  # which lets go of the interpreter
    if hashed != version:
        raise Unusable(f"snapshot {version[:12]} hashes to {hashed[:12]}")
    return raw


async def _bytes(client: Client, key: str, largest: int) -> bytes:
    """At most *largest* bytes of a value, one more where it has more: what is not ours may be of any size."""
    try:
        found = await client.getrange(key, 0, largest)
    except ResponseError as problem:
        if str(problem).startswith("WRONGTYPE"):
            raise Unusable(f"{key}: {problem}") from problem
        raise
    return found if isinstance(found, bytes) else found.encode()


async def publish(client: Redis, keys: Keys, raw: bytes, *, over: bytes | None, now: dt.datetime) -> Head:
    """Make *raw* the current snapshot, in one transaction, and return its head.

    *over* is what `read_head` found when the work on *raw* began, None where that was Unusable. Raises Overtaken where
    something else stands there now, and RedisError, or ConnectionError where the line broke: then either nothing has
    changed or everything has.
    """
    version = version_of(raw)
    async with client.pipeline(transaction=True) as pipe:
        await pipe.watch(keys.head)
        standing = await _standing(pipe, keys)
        if standing != over:
            raise Overtaken
        before = _parsed(standing)
        head = Head(version=version, published_at=now, earlier=_earlier(before, version))
        pipe.multi()  # type: ignore[no-untyped-call]
        pipe.set(keys.snapshot(version), raw)
        pipe.set(keys.head, msgspec.json.encode(head))
        for gone in _named(before) - {head.version, *head.earlier}:
            pipe.expire(keys.snapshot(gone), _LEAVES_AFTER_SECONDS)
        pipe.publish(keys.channel, version)
        try:
            await pipe.execute()
        except WatchError as problem:
            if "occurred while watching" in str(problem):  # the library's words for a connection that broke
                raise ConnectionError(str(problem)) from problem
            raise Overtaken from None
    return head


async def _standing(client: Client, keys: Keys) -> bytes | None:
    try:
        return await read_head(client, keys)
    except Unusable:
        return None


def _parsed(raw: bytes | None) -> Head | None:
    try:
        return parse_head(raw) if raw else None
    except Unusable:
        return None


def _earlier(before: Head | None, version: str) -> tuple[str, ...]:
    named = () if before is None else (before.version, *before.earlier)
    return tuple([each for each in named if each != version][:KEPT])


def _named(head: Head | None) -> set[str]:
    return set() if head is None else {head.version, *head.earlier}
