"""Where snapshots are kept outside the process: a file, written whole or not at all."""

from __future__ import annotations

import os
import pathlib
import tempfile

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.checks import problems
from cardmatch.catalogue.snapshot import Snapshot, SnapshotError, decode, encode, version_of

BUNDLED = "bundled"


def open_snapshot(name: str) -> Snapshot:
    """The snapshot in the file *name*, or the one of this release where it is called `bundled`.

    Raises SnapshotError where the file is none, or its rows contradict each other, and OSError.
    """
    if name == BUNDLED:
        return bundled_snapshot()
    snapshot = decode(pathlib.Path(name).read_bytes())
    if wrong := problems(snapshot):
        raise SnapshotError(f"{name}: {wrong[0]} ({len(wrong)} problems in all)")
    return snapshot


def publish(snapshot: Snapshot, path: pathlib.Path) -> str:
    """Write *snapshot* to *path* and return its version. A reader sees the old file or the new one. Raises OSError."""
    raw = encode(snapshot)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        pathlib.Path(name).replace(path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise
    return version_of(raw)
