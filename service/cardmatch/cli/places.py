"""Where the command line finds snapshots and leaves them: the release, a file, or Redis."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import overload

from cardmatch import settings
from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.publishing import open_snapshot, publish
from cardmatch.catalogue.shared.standing import Desk, Standing
from cardmatch.catalogue.snapshot import Snapshot, SnapshotError

REDIS = "redis"


@overload
def usual(named: str | None, otherwise: str) -> str: ...
@overload
def usual(named: str | None, otherwise: None) -> str | None: ...
def usual(named: str | None, otherwise: str | None) -> str | None:
    """The place that was *named*, else Redis where CARDMATCH_REDIS_URL is set, else *otherwise*. Raises BadSetting."""
    if named is not None:
        return named
    return REDIS if settings.redis_address(settings.read(os.environ)) else otherwise


def look() -> Standing:
    """What Redis names now. Raises Unreachable, SnapshotError where no Redis is set, BadSetting."""
    from cardmatch.catalogue.shared import desk  # noqa: PLC0415 - the client costs more than most commands

    return desk.look(_desk())


def open_place(place: str, standing: Standing | None = None) -> Snapshot:
    """The snapshot at *place*: `bundled`, a file, `redis`, or `redis:VERSION`; *standing* is what Redis named.

    Raises SnapshotError where it is none, OSError (Unreachable for Redis), BadSetting.
    """
    name, _, version = place.partition(":")
    if name != REDIS:
        return open_snapshot(place)
    found = standing or look()
    if found.problem is not None:
        raise SnapshotError(f"redis: {found.problem}; --base says what to begin with instead")
    if found.version is None and not version:
        print("cardmatch: Redis names no snapshot yet; this is the bundled one", file=sys.stderr)
        return bundled_snapshot()
    known = [each for each in (found.version, *found.earlier) if each is not None and each.startswith(version)]
    if not known:
        raise SnapshotError(f"{place}: Redis keeps no such version")
    from cardmatch.catalogue.shared import desk  # noqa: PLC0415 - as above

    return desk.take(_desk(), known[0])


def put(snapshot: Snapshot, place: str, standing: Standing | None) -> None:
    """Publish *snapshot* over *standing*, or write it to a file. Raises OSError (Unreachable for Redis), Overtaken."""
    if place != REDIS:
        publish(snapshot, pathlib.Path(place))
        return
    from cardmatch.catalogue.shared import desk  # noqa: PLC0415 - as above

    desk.put(_desk(), snapshot, standing or look())


def _desk() -> Desk:
    chosen = settings.read(os.environ)
    address = settings.redis_address(chosen)
    if address is None:
        raise SnapshotError("CARDMATCH_REDIS_URL is not set")
    return Desk(address=address, tls=settings.redis_tls(chosen), namespace=chosen.redis_namespace)
