"""Making a World of a snapshot's bytes without holding up the event loop."""

from __future__ import annotations

import asyncio
import gc
import sys

from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.snapshot import SnapshotError, decode
from cardmatch.catalogue.world import World, build

# How long the event loop waits for the interpreter while a thread holds it; by default it would be 5 ms.
_SWITCH_SECONDS = 0.0003


async def load_gently(raw: bytes, version: str) -> World:
    """The World of *raw*, whose hash is *version*, made in a thread. Raises SnapshotError."""
    collecting, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()  # it would walk every row again and again while they come in
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return await asyncio.to_thread(_load, raw, version)
    finally:
        sys.setswitchinterval(interval)
        gc.freeze()  # rows live long and hold no cycles
        if collecting:
            gc.enable()


def _load(raw: bytes, version: str) -> World:
    snapshot = decode(raw)
    if wrong := problems(snapshot):
        raise SnapshotError(f"{wrong[0]} ({len(wrong)} problems in all)")
    return build(snapshot, version)
