"""Where a job is to run: a card (or a slice of one), how many, and how the model is spread over them."""

from __future__ import annotations

import msgspec

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import SINGLE, Layout


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as the engine sees it: a whole card, a MIG slice, or memory that the caller states.

    `memory_bytes` is what CUDA or HIP reports as total; the range is its spread over drivers. `physical_bytes` is what
    nvidia-smi prints. Unknown figures are null.
    """

    card: str | None
    mig: str | None = None
    physical_bytes: int
    memory_bytes: int
    memory_low_bytes: int
    memory_high_bytes: int
    bandwidth_gb_s: float | None = None
    compute_capability: str | None = None
    vendor: str | None = None
    cards_memory_gb: float | None = None


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A device, how many of it over how many machines, the layout over them, and what else is on each.

    `layout_given` and `link_given`: whether the request stated them, so that a change of the cards has to change them.
    """

    device: Device
    count: int = 1
    layout: Layout = SINGLE
    layout_given: bool = False
    link: Link | None = None
    link_given: bool = False
    occupied_bytes: int = 0
    host_ram_bytes: int | None = None
    nodes: int = 1
