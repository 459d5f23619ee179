"""Workers that end with the server that started them, even where it had no time to tell them so."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator

import structlog

_log = structlog.get_logger(__name__)
_LOOK_SECONDS = 1.0


@contextlib.asynccontextmanager
async def ending_with_parent() -> AsyncIterator[None]:
    """While the block runs, look whether the process that made this one lives; where none did, nothing is done.

    A worker that outlived a killed server would hold its port and go on answering, and nobody could stop it.
    """
    task = asyncio.create_task(_watch())
    try:
        yield
    finally:
        task.cancel()


async def _watch() -> None:
    parent = multiprocessing.parent_process()
    while parent is not None:
        await asyncio.sleep(_LOOK_SECONDS)
        if not parent.is_alive():
            _log.warning("service.orphaned")
            os.kill(os.getpid(), signal.SIGTERM)
            return
