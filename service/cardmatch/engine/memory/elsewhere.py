"""Other cards that a job could move to, with what changes in its request."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.answer import Change
from cardmatch.engine.memory.placement import Placement


def elsewhere(
    placement: Placement, index: int, alternatives: tuple[Placement, ...]
) -> Iterator[tuple[Placement, tuple[Change, ...]]]:
    """*placement*, the one at *index* of the request, on each of *alternatives* that has more memory, in their order.

    What else the request says of its cards (count, layout, link, what is occupied) stays; a slice becomes a whole card.
    """
    device = placement.device
    for other in alternatives:
        if other.device.memory_bytes <= device.memory_bytes or _breaks_link(placement, other):
            continue
        changes = []
        if other.device.card != device.card:
            changes.append(Change(pointer=f"/cards/{index}/card", value=other.device.card or ""))
        if device.mig is not None:
            changes.append(Change(pointer=f"/cards/{index}/mig", value=None))
        yield msgspec.structs.replace(placement, device=other.device), tuple(changes)


def _breaks_link(placement: Placement, other: Placement) -> bool:
    """Whether the request asks for a link that *other* cannot have."""
    return placement.link_given and placement.link is not Link.PCIE and other.link is Link.PCIE
