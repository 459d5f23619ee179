"""How a request names the cards that a job is to run on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.terms.units import GIB, GivenBytes

DeviceBytes = Annotated[int, Meta(ge=GIB, le=1 << 42, description="Bytes of one GPU; 1 GiB to 4 TiB.")]
GigabytesPerSecond = Annotated[float, Meta(gt=0, le=100_000)]


class Link(StrEnum):
    """What joins the GPUs of one machine."""

    PCIE = "pcie"
    BRIDGE = "bridge"
    NVSWITCH = "nvswitch"


class CustomCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card that the catalogue does not have. `memory_bytes` is what CUDA reports as total, which is a little less
    than the card's name says.
    """

    memory_bytes: DeviceBytes
    bandwidth_gb_s: GigabytesPerSecond | None = None
    compute_capability: Annotated[str, Meta(pattern=r"^[0-9]{1,2}\.[0-9]$(?!\n)", examples=["8.9"])] | None = None


class CardChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cards for one placement. Without a layout, tensor parallelism takes all of them."""

    card: Annotated[str, Meta(min_length=1, max_length=80, examples=["rtx-4090"])] | CustomCard
    count: Annotated[int, Meta(ge=1, le=1024)] = 1
    layout: Layout | None = None
    mig: Annotated[str, Meta(min_length=1, max_length=24, examples=["3g.40gb"])] | None = None
    link: Link | None = None
    occupied_bytes: Annotated[GivenBytes, Meta(description="What other processes hold on each GPU.")] = 0
    host_ram_bytes: Annotated[GivenBytes, Meta(description="The machine's memory, where it is known.")] | None = None
