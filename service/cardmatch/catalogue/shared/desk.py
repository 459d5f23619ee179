"""The operator's side of the shared snapshot: read what Redis holds, publish something else, one call at a time."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import RedisError

from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.shared.connect import Link
from cardmatch.catalogue.shared.standing import Desk, Standing, Unreachable
from cardmatch.catalogue.shared.store import Keys, Unusable, parse_head, publish, read_head, read_snapshot
from cardmatch.catalogue.snapshot import Snapshot, SnapshotError, decode, encode, version_of

T = TypeVar("T")
# Longer than a replica waits: somebody, or a CronJob, wants this to happen.
_ANSWER_SECONDS = 10.0


def look(desk: Desk) -> Standing:
    """What is current there. Raises Unreachable."""
    keys = Keys(desk.namespace)

    async def work(link: Link) -> Standing:
        try:
            raw = await read_head(link.client, keys)
            if not raw:
                return Standing(raw=raw)
            head = parse_head(raw)
        except Unusable as problem:
            return Standing(raw=await _or_none(link, keys), problem=str(problem))
        return Standing(raw=raw, version=head.version, earlier=head.earlier)

    return _with_link(desk, work)


def take(desk: Desk, version: str) -> Snapshot:
    """The snapshot called *version*. Raises Unreachable, and SnapshotError where it is none or contradicts itself."""
    keys = Keys(desk.namespace)

    async def work(link: Link) -> bytes:
        return await read_snapshot(link.client, keys, version)

    try:
        snapshot = decode(_with_link(desk, work))
    except Unusable as problem:
        raise SnapshotError(str(problem)) from problem
    if wrong := problems(snapshot):
        raise SnapshotError(f"{version[:12]}: {wrong[0]} ({len(wrong)} problems in all)")
    return snapshot


def put(desk: Desk, snapshot: Snapshot, over: Standing) -> bool:
    """Publish *snapshot* in the place of *over*; False where it is current already.

    Raises Overtaken where somebody else published since, Unreachable, and SnapshotError where it contradicts itself.
    """
    if wrong := problems(snapshot):
        raise SnapshotError(f"{wrong[0]} ({len(wrong)} problems in all)")
    raw, keys = encode(snapshot), Keys(desk.namespace)
    if version_of(raw) == over.version:
        return False

    async def work(link: Link) -> None:
        primary = await link.primary(keys.head)
        try:
            await publish(primary, keys, raw, over=over.raw, now=dt.datetime.now(dt.UTC))
        finally:
            await primary.aclose()

    try:
        _with_link(desk, work)
    except Unreachable:
        if _is_current(desk, version_of(raw)):  # the line broke after all was done
            return True
        raise
    return True


def _is_current(desk: Desk, version: str) -> bool:
    try:
        return look(desk).version == version
    except Unreachable:
        return False


async def _or_none(link: Link, keys: Keys) -> bytes | None:
    """The head as it stands, None where it has another type."""
    try:
        return await read_head(link.client, keys)
    except Unusable:
        return None


def _with_link(desk: Desk, work: Callable[[Link], Awaitable[T]]) -> T:
    async def run() -> T:
        link = Link(desk.address, desk.tls, answer_seconds=_ANSWER_SECONDS)
        try:
            return await work(link)
        except (RedisError, OSError, TimeoutError) as problem:
            raise Unreachable(f"{desk.address}: {link.describe(problem)}") from None
        finally:
            await link.aclose()

    return asyncio.run(run())
