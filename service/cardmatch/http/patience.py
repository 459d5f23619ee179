"""Giving up on clients that stop in the middle of a body, without a timer for each request.

`asyncio.timeout` sets and cancels a timer per request, which costs more than the rest of the door together. Here those
who wait are written down, and one sweep a second looks whether somebody has waited too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")
_SWEEP_SECONDS = 1.0


class TooSlow(Exception):  # noqa: N818 - what happened, not an error of ours
    """What was awaited did not come in time."""


class Patience:
    """Waits at most some seconds, and up to one sweep more, for one thing at a time in each task."""

    def __init__(self, seconds: float, sweep_seconds: float = _SWEEP_SECONDS) -> None:
        """Give up after *seconds*, looking every *sweep_seconds*."""
        self._seconds = seconds
        self._sweep_seconds = sweep_seconds
        self._since: dict[asyncio.Task[object], float] = {}
        self._given_up: set[asyncio.Task[object]] = set()
        self._sweeping = False

    async def wait(self, awaitable: Awaitable[T], since: float | None = None) -> T:
        """What *awaitable* gives; TooSlow where it takes too long, counted from *since* (loop time; default: now)."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("waits only within a task")
        self._since[task] = loop.time() if since is None else since
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(self._sweep_seconds, self._sweep, loop)
        try:
            return await awaitable
        except asyncio.CancelledError:
            if task in self._given_up:
                task.uncancel()
                raise TooSlow from None
            raise
        finally:
            del self._since[task]
            self._given_up.discard(task)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        latest = loop.time() - self._seconds
        for task, since in self._since.items():
            if since < latest and task not in self._given_up:
                self._given_up.add(task)
                task.cancel()
        self._sweeping = bool(self._since)
        if self._sweeping:
            loop.call_later(self._sweep_seconds, self._sweep, loop)
