"""What lies in the machine's memory, against how much of it the request says there is."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_MODULES = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
_GIB = 2**30


def lacks_host_ram(placement: Placement, host_bytes: int) -> bool:
    """Whether the machine is known to have less memory than *host_bytes*."""
    return placement.host_ram_bytes is not None and host_bytes > placement.host_ram_bytes


def short_of_host_ram(placement: Placement, host_bytes: int) -> list[Notice]:
    """The notice that names what is missing in the machine, if anything is."""
    there = placement.host_ram_bytes
    if there is None or host_bytes <= there:
        return []
    figures = {"needed_bytes": host_bytes, "available_bytes": there, "missing_bytes": host_bytes - there}
    return [notice(NoticeCode.HOST_RAM_SHORT, Severity.WARNING, **figures)]


def more_host_ram(placement: Placement, index: int, host_bytes: int) -> Iterator[tuple[Placement, tuple[Change, ...]]]:
    """The placement with memory enough for *host_bytes* in its machine, in the sizes that machines are rented with."""
    if not lacks_host_ram(placement, host_bytes):
        return
    ram = next((size * _GIB for size in _MODULES if size * _GIB >= host_bytes), host_bytes)
    changes = (Change(pointer=f"/cards/{index}/host_ram_bytes", value=ram),)
    yield msgspec.structs.replace(placement, host_ram_bytes=ram), changes
