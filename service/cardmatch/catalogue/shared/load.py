"""Making a World of a snapshot's bytes without holding up the event loop."""

from __future__ import annotations

import asyncio
import gc

from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.snapshot import Snapshot, SnapshotError, decoding
from cardmatch.catalogue.world import World, build


async def load_gently(raw: bytes, version: str) -> World:
    """The World of *raw*, whose hash is *version*; other tasks run between the steps. Raises SnapshotError."""
    collecting = gc.isenabled()
    gc.disable()  # it would walk every row again and again while they come in
    try:
        snapshot = await _decode(raw)
        # In a thread, since it comes in no steps; the loop gets the interpreter back after at most 5 ms.
        if wrong := await asyncio.to_thread(problems, snapshot):
            raise SnapshotError(f"{wrong[0]} ({len(wrong)} problems in all)")
        return build(snapshot, version)
    finally:
        gc.freeze()  # rows live long and hold no cycles
        if collecting:
            gc.enable()


async def _decode(raw: bytes) -> Snapshot:
    steps = decoding(raw)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            snapshot: Snapshot = done.value
            return snapshot
        await asyncio.sleep(0)
