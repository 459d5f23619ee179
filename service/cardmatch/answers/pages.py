"""Pages of a listing: a stable order, and an opaque cursor that continues in the snapshot of the first page."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from cardmatch.catalogue.world import World, pin
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

Row = TypeVar("Row")
Place = tuple[bool, float, str]
"""What rows are ordered by: whether the figure is missing, the figure, and the id."""

Limit = Annotated[int, Meta(ge=1, le=200, description="Rows on a page.")]
CursorText = Annotated[str, Meta(min_length=1, max_length=400, description="`next_cursor` of the page before.")]


class _Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    version: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]
    after: Place


def snapshot_of(world: World, catalogue_version: str | None, cursor: str | None) -> World:
    """The snapshot to list: the one asked for, else the cursor's while it is kept, else the current one.

    Raises Invalid: `catalogue_gone` at /catalogue_version, `wrong_cursor` at /cursor.
    """
    if catalogue_version is not None or cursor is None:
        try:
            return pin(world, catalogue_version)
        except Invalid as gone:
            raise gone.under("/catalogue_version") from None
    version = _decode(cursor).version
    return next((kept for kept in (world, *world.earlier) if kept.version.startswith(version)), world)


def page(
    world: World, rows: Sequence[Row], place: Callable[[Row], Place], *, limit: int, cursor: str | None
) -> tuple[tuple[Row, ...], str | None]:
    """The *limit* rows after *cursor* in the order of *place*, and the cursor of the page after them.

    Raises Invalid: `wrong_cursor` at /cursor.
    """
    ordered = sorted(rows, key=place)
    start = bisect_right(ordered, _decode(cursor).after, key=place) if cursor else 0
    shown = tuple(ordered[start : start + limit])
    if start + limit >= len(ordered):
        return shown, None
    return shown, _encode(_Cursor(world.version[:16], place(shown[-1])))


def _encode(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).rstrip(b"=").decode()


def _decode(text: str) -> _Cursor:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=_Cursor)
    except (binascii.Error, ValueError, RecursionError):
        raise Invalid(Fault(code=FaultCode.WRONG_CURSOR, pointer="/cursor")) from None
