"""A quantisation scheme: number formats, and the modules that they apply to or spare."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.models.formats import FORMATS, LINEAR, grouped
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.models.linears import PartKind


class Number(msgspec.Struct, frozen=True):
    """A number format with its bits per weight, scales included."""

    format: str
    bits: Annotated[float, Meta(gt=0, le=64)]


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """Linear modules are stored in *number*, except the *spared* ones and those that *listed* names.

    *listed* pairs module patterns with formats of their own; with *number* None they are all that is quantised.
    *parts* are the kinds of parts that the tool touches at all.
    """

    label: str
    number: Number | None = None
    spared: tuple[str, ...] = ()
    listed: tuple[tuple[str, Number], ...] = ()
    parts: frozenset[PartKind] = LINEAR
    head: Number | None = None
    kv_cache: KvFormat | None = None
    mtp: bool = False


def named(name: str) -> Number:
    """The number format *name* at its usual group size."""
    return Number(name, FORMATS[name].bits)


def integer_number(bits: int, group_size: int, *, label: str, zero_points: bool) -> Number:
    """Integers of *bits* with a 16-bit scale, and a zero point, per group; a group of -1 is a whole row."""
    if group_size <= 0:
        return Number(label, float(bits))
    return Number(label, grouped(bits, group_size, 16, bits if zero_points else 0))
