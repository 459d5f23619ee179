"""What a log says: figures under the names of the engine's reserves, settings, and what went wrong."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Trouble(StrEnum):
    """Why an engine did not start, or died."""

    CACHE_BELOW_LENGTH = "cache_below_length"
    NO_ROOM_FOR_CACHE = "no_room_for_cache"
    MEMORY_HELD_BY_OTHERS = "memory_held_by_others"
    WEIGHTS_NOT_ALLOCATED = "weights_not_allocated"
    CACHE_NOT_ALLOCATED = "cache_not_allocated"
    COMPUTE_NOT_ALLOCATED = "compute_not_allocated"
    OUT_OF_MEMORY = "out_of_memory"


class LogError(msgspec.Struct, frozen=True, kw_only=True):
    """An error, with the bytes that it names: asked for, available to it, free and total on the GPU.

    `fitting_tokens` is the longest request that the engine says would fit.
    """

    trouble: Trouble
    needed_bytes: int | None = None
    available_bytes: int | None = None
    total_bytes: int | None = None
    fitting_tokens: int | None = None


class Logged(msgspec.Struct, frozen=True, kw_only=True):
    """A log as read.

    `figures` go by their path in the engine's reserves (`model_bytes`, `devices/0/compute_bytes`); `options` are
    fields of the engine's options, `layout` ranks per kind of parallelism, `kv_cache` and `weights` formats, `model`
    and `card` as the log calls them.
    """

    engine: str
    version: str | None = None
    figures: dict[str, float] = {}
    options: dict[str, Any] = {}
    layout: dict[str, int] = {}
    kv_cache: Any = None
    weights: str | None = None
    model: str | None = None
    card: str | None = None
    error: LogError | None = None
