"""A card, or a slice of one, as the speed formulas see it."""

from __future__ import annotations

import math
from typing import NamedTuple

from cardmatch.engine.hardware.card import Card, DenseRates, MigProfile, Topology, Vendor
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.terms.units import GB

PCIE_LANE_GB_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""One lane, one direction, after encoding: PCI Express base specifications 1.0 to 6.0."""

USUAL_PCIE = (4, 16)

THROUGH_HOST_BYTES = PCIE_LANE_GB_S[4] * 16 * GB
"""Ranks without NVLink exchange through the host's memory, which a slot of a later generation does not speed up."""


class Clocked(NamedTuple):
    """Lanes of FP32 of a multiprocessor, and the boost clock that data sheets reckon with."""

    lanes: int
    hertz: float


CLOCKED = {
    "6.0": Clocked(64, 1.30e9),
    "7.0": Clocked(64, 1.38e9),
    "7.5": Clocked(64, 1.60e9),
    "8.0": Clocked(64, 1.41e9),
    "8.6": Clocked(128, 1.70e9),
    "8.9": Clocked(128, 2.52e9),
    "9.0": Clocked(128, 1.83e9),
    "10.0": Clocked(128, 1.92e9),
    "10.3": Clocked(128, 1.92e9),
    "12.0": Clocked(128, 2.41e9),
    "gfx90a": Clocked(64, 1.70e9),
    "gfx942": Clocked(128, 2.10e9),
    "gfx950": Clocked(128, 2.40e9),
}
"""By compute capability: NVIDIA's CUDA C++ programming guide (arithmetic instructions) and whitepapers, AMD's CDNA 2 to
4 (two FP32 operations a lane and cycle from CDNA 3 on).
"""

USUALLY_CLOCKED = Clocked(128, 1.83e9)
NO_RATES = DenseRates(
    fp32_tflops=None,
    tf32_tflops=None,
    fp16_tflops=None,
    bf16_tflops=None,
    fp8_tflops=None,
    fp4_tflops=None,
    int8_tops=None,
    int4_tops=None,
)


class Chip(NamedTuple):
    """Rates of one device, in SI units per second; `kind` names the memory and generation that efficiencies follow.

    `nvlink_bytes` is one direction, 0 without; `nvlink_gpus` is how many cards it joins. `share` is the part of the
    card's arithmetic: that of a slice (links are off between slices), or of one of several devices. `cycles` are those
    of all its multiprocessors together, each at `hertz`; infinite where nothing tells.
    """

    card: str | None
    kind: str
    bandwidth_bytes: float
    rates: DenseRates
    share: float
    pcie_bytes: float
    nvlink_bytes: float
    nvlink_gpus: int
    switched: bool
    hertz: float
    cycles: float

    def link(self, ranks: int, asked: Link | None = None) -> tuple[str, float]:
        """What carries traffic between *ranks* GPUs, and its bytes per second in one direction.

        A bridge is used where it is asked for; a switch is part of its cards unless PCIe is.
        """
        joined = ranks <= self.nvlink_gpus
        if joined and (asked in {Link.NVSWITCH, Link.BRIDGE} or (asked is None and self.switched)):
            return "nvlink", self.nvlink_bytes
        return "pcie", min(self.pcie_bytes, THROUGH_HOST_BYTES)


def chip_of(card: Card, profile: MigProfile | None = None) -> Chip:
    """The device that software sees of *card*, or its slice *profile* with its share of units and bandwidth."""
    devices = card.devices
    slices = card.mig.compute_slices if card.mig else 1
    share = 1.0 if profile is None else profile.compute_slices / slices
    bandwidth = 1.0 if profile is None else profile.bandwidth_share
    generation, lanes = (card.pcie.generation, card.pcie.lanes) if card.pcie else USUAL_PCIE
    nvlink = card.nvlink if profile is None else None
    clocked = CLOCKED.get(card.compute_capability or "", USUALLY_CLOCKED)
    cycles = card.dense.fp32_tflops * 1e12 / (2 * clocked.lanes) if card.dense.fp32_tflops else math.inf
    return Chip(
        card=card.id,
        kind=kind_of(card),
        bandwidth_bytes=card.bandwidth_gb_s * GB / devices * bandwidth,
        rates=card.dense,
        share=share / devices,
        pcie_bytes=PCIE_LANE_GB_S.get(generation, PCIE_LANE_GB_S[6]) * lanes * GB,
        nvlink_bytes=nvlink.bidirectional_gb_s / 2 * GB if nvlink else 0.0,
        nvlink_gpus=(nvlink.domain_gpus or (2 if nvlink.topology is Topology.BRIDGE else 8)) if nvlink else 0,
        switched=nvlink is not None and nvlink.topology is not Topology.BRIDGE,
        hertz=clocked.hertz,
        cycles=cycles * share / devices,
    )


def kind_of(card: Card) -> str:
    """Memory and generation: cards of one kind reach alike shares of their data sheets."""
    memory = "hbm" if card.memory_type.upper().startswith("HBM") else "gddr"
    if card.vendor is not Vendor.NVIDIA:
        return f"{memory}-{card.vendor.value}"
    return f"{memory}-{card.architecture.split()[0].lower()}"


def stated_chip(bandwidth_gb_s: float) -> Chip:
    """A card of which only the bandwidth is known."""
    pcie = PCIE_LANE_GB_S[USUAL_PCIE[0]] * USUAL_PCIE[1] * GB
    return Chip(
        None,
        "stated",
        bandwidth_gb_s * GB,
        NO_RATES,
        1.0,
        pcie,
        0.0,
        0,
        switched=False,
        hertz=USUALLY_CLOCKED.hertz,
        cycles=math.inf,
    )
