"""The worker processes of a server: which they are, and how much memory each has."""

from __future__ import annotations

from pathlib import Path

from tests.serving import Served


def workers(server: Served) -> list[int]:
    """The ids of the processes that answer, not of the one that helps multiprocessing."""
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()]


def resident_bytes(pid: int) -> int:
    """Memory in RAM, without the pages of files that are shared."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


def descriptors(pid: int) -> int:
    """Open files and connections."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
