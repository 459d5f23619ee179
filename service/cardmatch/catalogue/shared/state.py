"""Where the snapshot that answers came from, and how things stand with Redis: what `GET /catalogue` says of both."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class RedisState(StrEnum):
    """How things stand with Redis. Whatever it is, the last good snapshot answers."""

    OFF = "off"  # no URL is set
    WAITING = "waiting"  # it has not answered yet
    CURRENT = "current"  # the snapshot that it names is the one that answers
    EMPTY = "empty"  # it answers, and names no snapshot
    UNAVAILABLE = "unavailable"  # it does not answer, or refuses us
    UNUSABLE = "unusable"  # it answers with something that is no snapshot of this release


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot as it is shared between processes. It changes with what happens, not with time."""

    redis: RedisState = RedisState.OFF
    since: Annotated[dt.datetime | None, Meta(description="When Redis came into that state; null while it is off.")] = (
        None
    )
    published_at: Annotated[
        dt.datetime | None, Meta(description="When the snapshot was published; null for the one of the release.")
    ] = None


class Tally(msgspec.Struct, kw_only=True):
    """What has happened since the start, for whoever counts. `answered_at` is the loop's time of the last answer."""

    polls: int = 0
    failed_polls: int = 0
    swaps: int = 0
    outages: int = 0
    answered_at: float | None = None
    listening: bool = False
