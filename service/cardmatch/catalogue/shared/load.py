"""Making a World of a snapshot's bytes without holding up the event loop."""

from __future__ import annotations

import asyncio
import gc
import time

from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.snapshot import Snapshot, SnapshotError, decoding
from cardmatch.catalogue.world import World, build


async def load_gently(raw: bytes, version: str) -> World:
    """The World of *raw*, whose hash is *version*, made in a thread. Raises SnapshotError."""
    collecting = gc.isenabled()
    gc.disable()  # it would walk every row again and again while they come in
    try:
        return await asyncio.to_thread(_load, raw, version)
    finally:
        gc.freeze()  # rows live long and hold no cycles
        if collecting:
            gc.enable()


def _load(raw: bytes, version: str) -> World:
    snapshot = _decode(raw)
    if wrong := problems(snapshot):
        raise SnapshotError(f"{wrong[0]} ({len(wrong)} problems in all)")
    return build(snapshot, version)


def _decode(raw: bytes) -> Snapshot:
    steps = decoding(raw)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            snapshot: Snapshot = done.value
            return snapshot
        time.sleep(0)  # hands the interpreter to the loop, which would otherwise wait 5 ms for it
