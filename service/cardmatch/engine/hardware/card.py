"""A card: what the data sheet says, and what CUDA, HIP and the engines really see of it.

The figures live in `catalogue/data/cards.json`; this module gives their shape. Dense rates never include sparsity, and
tensor rates are those with FP32 accumulation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Bytes

CardId = Annotated[
    str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9-]*$(?!\n)", description="Card id.")
]
Rate = Annotated[float, Meta(gt=0, le=10**6, description="TFLOPS (TOPS for the integer formats), dense.")]
GigabytesPerSecond = Annotated[float, Meta(gt=0, le=10**5, description="10^9 bytes per second.")]
Slices = Annotated[int, Meta(ge=1, le=64)]


class Vendor(StrEnum):
    """Who makes the card."""

    NVIDIA = "nvidia"
    AMD = "amd"
    INTEL = "intel"
    GOOGLE = "google"


class Ecc(StrEnum):
    """Error-correcting memory: on by default, to be switched on, or absent."""

    YES = "yes"
    OPTIONAL = "optional"
    NO = "no"


class VisibleBasis(StrEnum):
    """How the memory that engines see was found, surest first.

    `memory_class` was printed for another card of the same memory; `stated` is a range given by those who run the card.
    """

    OBSERVED = "observed"
    MEMORY_CLASS = "memory_class"
    STATED = "stated"
    DERIVED = "derived"


class TransformerEngine(StrEnum):
    """Which FP8 recipes NVIDIA's Transformer Engine library can use on the card.

    The hardware brings FP8 tensor cores; the library (or the serving engine) chooses formats and keeps the scaling
    factors. `per_tensor` (Ada), `partial` (compute capability 12.0), `block` (Hopper), `micro` (MXFP8 and NVFP4 in the
    tensor cores). Source: the library's support matrix.
    """

    NONE = "none"
    PER_TENSOR = "per_tensor"
    PARTIAL = "partial"
    BLOCK = "block"
    MICRO = "micro"


class LinkKind(StrEnum):
    """What carries traffic between cards besides PCIe."""

    NVLINK = "nvlink"
    INFINITY_FABRIC = "infinity_fabric"
    ROCE = "roce"
    ICI = "ici"


class Topology(StrEnum):
    """How the link joins cards: a bridge of two (or four), card to card, one NVSwitch domain, or a torus."""

    BRIDGE = "bridge"
    DIRECT = "direct"
    NVSWITCH = "nvswitch"
    TORUS = "torus"


class PartitionKind(StrEnum):
    """NVIDIA's Multi-Instance GPU, or AMD's compute partition modes."""

    MIG = "mig"
    COMPUTE_PARTITION = "compute_partition"


class VisibleMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What CUDA or HIP reports as total memory, hence what engines divide; low and high are the spread over drivers."""

    low_bytes: Bytes
    expected_bytes: Bytes
    high_bytes: Bytes
    basis: VisibleBasis


class DenseRates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Peak dense rates by format; null is no native support, or never published."""

    fp32_tflops: Rate | None
    tf32_tflops: Rate | None
    fp16_tflops: Rate | None
    bf16_tflops: Rate | None
    fp8_tflops: Rate | None
    fp4_tflops: Rate | None
    int8_tops: Rate | None
    int4_tops: Rate | None


class NvLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The link between cards: NVLink, or what takes its place at other vendors (`kind`)."""

    kind: LinkKind
    generation: Annotated[int, Meta(ge=1, le=16)] | None
    bidirectional_gb_s: GigabytesPerSecond
    topology: Topology
    domain_gpus: (
        Annotated[int, Meta(ge=2, le=1024, description="Most cards that the link joins, where it is known.")] | None
    )


class Pcie(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The card's slot."""

    generation: Annotated[int, Meta(ge=1, le=8)]
    lanes: Annotated[int, Meta(ge=1, le=32)]


class MigProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A partition that the card can be cut into.

    Memory is what the driver lists for the instance; plan with the low figure. Both are null where nobody printed it.
    `bandwidth_share` is the profile's memory slices over the card's.
    """

    name: Annotated[str, Meta(min_length=1, max_length=16)]
    memory_gb: Annotated[float, Meta(gt=0, le=1024, description="The size in the profile's name.")]
    memory_low_bytes: Bytes | None
    memory_high_bytes: Bytes | None
    compute_slices: Slices
    memory_slices: Slices
    max_count: Annotated[int, Meta(ge=1, le=64, description="How many of this profile one card holds.")]
    bandwidth_share: Annotated[float, Meta(gt=0, le=1)]
    sm_count: Annotated[int, Meta(ge=1, le=1024)] | None
    memory_basis: VisibleBasis


class Mig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the card can be partitioned. Links and peer-to-peer are off between partitions."""

    kind: PartitionKind
    compute_slices: Slices
    memory_slices: Slices
    max_instances: Annotated[int, Meta(ge=1, le=64)]
    profiles: Annotated[tuple[MigProfile, ...], Meta(min_length=1, max_length=32)]


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One card of the vocabulary.

    `memory_gb` is the marketed size; `usable_bytes` what nvidia-smi, rocm-smi or hl-smi shows; `visible` what engines
    get to divide. `devices` is how many devices software sees (an MI250X is two, each with half of every figure).
    `sources` says where each group of figures comes from (keys of the catalogue's source list); `uncertain` lists the
    figures that nothing confirmed. An optional ECC is off by default; in-band ECC takes its bits out of the memory.
    """

    id: CardId
    name: Annotated[str, Meta(min_length=1, max_length=80)]
    family: Annotated[str, Meta(min_length=1, max_length=40, description="What people call the group, such as H100.")]
    vendor: Vendor
    architecture: Annotated[str, Meta(min_length=1, max_length=40)]
    compute_capability: Annotated[str, Meta(min_length=1, max_length=16, description="8.9, or gfx942 on AMD.")] | None
    memory_gb: Annotated[int, Meta(ge=1, le=4096)]
    memory_type: Annotated[str, Meta(min_length=1, max_length=16)]
    usable_bytes: Bytes | None
    usable_with_ecc_bytes: Bytes | None
    visible: VisibleMemory | None
    bandwidth_gb_s: GigabytesPerSecond
    dense: DenseRates
    devices: Annotated[int, Meta(ge=1, le=8)]
    ecc: Ecc
    ecc_in_band: bool | None
    transformer_engine: TransformerEngine
    nvlink: NvLink | None
    pcie: Pcie | None
    mig: Mig | None
    tdp_watts: Annotated[int, Meta(ge=1, le=10_000)] | None
    form_factor: Annotated[str, Meta(min_length=1, max_length=40)]
    release_year: Annotated[int, Meta(ge=2006, le=2100)]
    sources: Annotated[dict[str, str], Meta(max_length=32)]
    uncertain: Annotated[tuple[str, ...], Meta(max_length=32)]
    note: Annotated[str, Meta(max_length=400)] | None


def has_fp8(card: Card) -> bool:
    """Whether the card multiplies FP8 natively."""
    return card.dense.fp8_tflops is not None


def mig_profile(card: Card, name: str) -> MigProfile | None:
    """The card's profile called *name*, whatever its case; `+me`, `+gfx` and `-me` variants have the same memory."""
    wanted = name.strip().lower().split("+")[0].removesuffix("-me")
    profiles = card.mig.profiles if card.mig else ()
    return next((profile for profile in profiles if profile.name.lower() == wanted), None)
