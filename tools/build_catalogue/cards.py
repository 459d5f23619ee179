"""cards.json: the card vocabulary, with every figure in the units of the wire."""

from __future__ import annotations

import pathlib
from typing import Any

from cardmatch.engine.hardware.card import (
    Card,
    DenseRates,
    Ecc,
    LinkKind,
    Mig,
    MigProfile,
    NvLink,
    PartitionKind,
    Pcie,
    Topology,
    TransformerEngine,
    Vendor,
    VisibleBasis,
    VisibleMemory,
)
from cardmatch.engine.terms.units import GIB, MIB
from tools.build_catalogue.files import one_row_a_line, read_json

VISIBLE_BASIS = {
    "observed": VisibleBasis.OBSERVED,
    "class": VisibleBasis.MEMORY_CLASS,
    "stated": VisibleBasis.STATED,
    "derived": VisibleBasis.DERIVED,
}
TOPOLOGY: dict[str, tuple[Topology, int | None]] = {
    "2-way bridge": (Topology.BRIDGE, 2),
    "2- or 4-way bridge": (Topology.BRIDGE, 4),
    "bridge": (Topology.BRIDGE, None),
    "6 links": (Topology.DIRECT, None),
    "per OAM": (Topology.DIRECT, None),
    "fully connected 8-way": (Topology.DIRECT, 8),
    "21 ports scale-up": (Topology.DIRECT, None),
    "NVLink + C2C 900 to Grace": (Topology.DIRECT, None),
    "NVSwitch": (Topology.NVSWITCH, None),
    "NVLink Switch, 72-GPU domain": (Topology.NVSWITCH, 72),
    "NVLink Switch, 72-GPU domain + C2C to Grace": (Topology.NVSWITCH, 72),
    "torus": (Topology.TORUS, None),
}
# The support matrix of the Transformer Engine library, by architecture.
TRANSFORMER_ENGINE = {
    "Ada": TransformerEngine.PER_TENSOR,
    "Hopper": TransformerEngine.BLOCK,
    "Blackwell": TransformerEngine.MICRO,
    "Blackwell Ultra": TransformerEngine.MICRO,
}
# An MI250X shows up as two devices with half of the memory and rates each.
DEVICES = {"mi250x": 2}
FAMILY_WORDS = {"rtx": "RTX", "pro": "PRO", "quadro": "Quadro", "ada": "Ada", "blackwell": "Blackwell", "tpu": "TPU"}
FAMILY_OF = {"v100s": "V100", "gaudi2": "Gaudi 2", "gaudi3": "Gaudi 3"}
VARIANTS = ("-max-q", "-sff")


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """`cards.json`, sorted by id."""
    source = read_json(shared / "cards.json")
    cards = sorted((card(row) for row in source["cards"]), key=lambda row: row.id)
    head = {"as_of": source["generated"], "sources": source["sources"], "rules": source["rules"]}
    return {"cards.json": one_row_a_line(head, "cards", cards)}


def card(row: dict[str, Any]) -> Card:
    """One card in the units of the wire."""
    in_band = None if row["ecc_note"] is None or row["ecc"] == "no" else "in-band" in row["ecc_note"]
    return Card(
        id=row["id"],
        name=row["name"],
        family=family(row["id"]),
        vendor=Vendor(row["vendor"].lower()),
        architecture=row["architecture"],
        compute_capability=None if row["compute_capability"] == "n/a" else row["compute_capability"],
        memory_gb=row["memory_gb"],
        memory_type=row["memory_type"],
        usable_bytes=mib(row["usable_mib"]),
        usable_with_ecc_bytes=mib(row["usable_mib_ecc_on"]),
        visible=visible(row),
        bandwidth_gb_s=row["memory_bandwidth_gb_s"],
        dense=rates(row["dense_tflops"]),
        devices=DEVICES.get(row["id"], 1),
        ecc=Ecc(row["ecc"]),
        ecc_in_band=in_band,
        transformer_engine=transformer_engine(row),
        nvlink=link(row["nvlink"]),
        pcie=Pcie(generation=row["pcie"]["gen"], lanes=row["pcie"]["lanes"]) if row["pcie"]["gen"] else None,
        mig=mig(row["mig"]),
        tdp_watts=row["tdp_w"],
        form_factor=row["form_factor"],
        release_year=row["release_year"],
        sources={figure: key for figure, key in row["figure_sources"].items() if key},
        uncertain=tuple(row["uncertain"]),
        note=row["note"],
    )


def mib(value: int | None) -> int | None:
    """Bytes."""
    return None if value is None else value * MIB


def family(card_id: str) -> str:
    """What people call the group: H100 for every H100, but each RTX by its own name."""
    for variant in VARIANTS:
        card_id = card_id.removesuffix(variant)
    words = card_id.split("-")
    if words[0] not in FAMILY_WORDS:
        return FAMILY_OF.get(words[0], words[0].upper())
    return " ".join(FAMILY_WORDS.get(word, word if words[0] == "tpu" else word.upper()) for word in words)


def visible(row: dict[str, Any]) -> VisibleMemory | None:
    """What engines see, with its spread over drivers."""
    if row["engine_visible_mib"] is None:
        return None
    low, high = row["engine_visible_range_mib"]
    return VisibleMemory(
        low_bytes=low * MIB,
        expected_bytes=row["engine_visible_mib"] * MIB,
        high_bytes=high * MIB,
        basis=VISIBLE_BASIS[row["engine_visible_basis"]],
    )


def rates(row: dict[str, Any]) -> DenseRates:
    """The dense rates by format."""
    tflops = {f"{name}_tflops": row[name] for name in ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")}
    return DenseRates(**tflops, int8_tops=row["int8_tops"], int4_tops=row["int4_tops"])


def transformer_engine(row: dict[str, Any]) -> TransformerEngine:
    """Which FP8 recipes the library knows: only part of them on compute capability 12.0."""
    if not row["te_hardware"]:
        return TransformerEngine.NONE
    if row["compute_capability"] == "12.0":
        return TransformerEngine.PARTIAL
    return TRANSFORMER_ENGINE[row["architecture"]]


def link(row: dict[str, Any] | None) -> NvLink | None:
    """The link between cards."""
    if row is None:
        return None
    generation = row["generation"]
    kinds = {"Infinity Fabric": LinkKind.INFINITY_FABRIC, "ICI": LinkKind.ICI}
    kind = LinkKind.NVLINK if isinstance(generation, int) else kinds.get(generation, LinkKind.ROCE)
    topology, domain = TOPOLOGY[row["topology"]]
    return NvLink(
        kind=kind,
        generation=generation if isinstance(generation, int) else None,
        bidirectional_gb_s=row["gb_s_bidirectional_total"],
        topology=topology,
        domain_gpus=domain,
    )


def mig(row: dict[str, Any]) -> Mig | None:
    """How the card can be cut."""
    if not row["supported"]:
        return None
    return Mig(
        kind=PartitionKind.MIG if row["kind"] == "MIG" else PartitionKind.COMPUTE_PARTITION,
        compute_slices=row["compute_slices"],
        memory_slices=row["memory_slices"],
        max_instances=row["max_instances"],
        profiles=tuple(profile(each) for each in row["profiles"]),
    )


def profile(row: dict[str, Any]) -> MigProfile:
    """One partition, its memory in bytes."""
    low, high = row["memory_gib"], row["memory_gib_high"]
    return MigProfile(
        name=row["name"],
        memory_gb=row["memory_gb"],
        memory_low_bytes=None if low is None else round(low * GIB),
        memory_high_bytes=None if high is None else round(high * GIB),
        compute_slices=row["compute_slices"],
        memory_slices=row["memory_slices"],
        max_count=row["max_count"],
        bandwidth_share=row["bandwidth_share"],
        sm_count=row["sm_count"],
        memory_basis=VisibleBasis.OBSERVED if row["source"] == "lgip" else VisibleBasis.DERIVED,
    )
