"""The forms that one copy of the model may take: a card or a slice, how many, the layout, and the weight format."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import NamedTuple

from cardmatch.engine.advice.market import Lot
from cardmatch.engine.advice.presets import EngineSupport, Presets, Splits
from cardmatch.engine.advice.question import Isolation, Wanted, WantedLink
from cardmatch.engine.hardware.card import Card, LinkKind, PartitionKind, Topology
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.device import slice_device, whole_device
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.money.offer import OfferLink

COUNTS = (1, 2, 4, 8)
AS_PUBLISHED = "as_published"
_GGUF = (LlamaCpp, Ollama, LmStudio)
_NVIDIA = "nvidia"


class Form(NamedTuple):
    """One copy: *gpus* devices of *card*, `copies_per_gpu` of them on one card where it is cut into slices.

    `link` is what joins them where it is known; `lots` the offers that can hold it, or each of its `nodes` whole.
    """

    card: Card
    device: Device
    gpus: int
    layout: Layout
    weights: str
    mig: str | None
    copies_per_gpu: int
    link: Link | None
    lots: tuple[Lot, ...]
    nodes: int = 1

    @property
    def key(self) -> tuple[str, int, int, str, str]:
        """Settles the order of forms that are otherwise alike."""
        return self.card.id, self.gpus, self.nodes, self.weights, self.mig or ""


def engine_name(engine: AnyEngine) -> str:
    """The engine's word on the wire."""
    return str(engine.__struct_config__.tag)


def runs_on(support: EngineSupport, card: Card) -> bool:
    """Whether the engine runs on *card* at all."""
    if card.vendor.value not in support.vendors or card.visible is None or card.usable_bytes is None:
        return False
    return card.vendor.value != _NVIDIA or (_compute(card) or (0, 0)) >= support.least_compute


def _compute(card: Card) -> tuple[int, int] | None:
    return _read(card.compute_capability or "")


@functools.lru_cache(maxsize=256)
def _read(capability: str) -> tuple[int, int] | None:
    major, _, minor = capability.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def weight_formats(engine: AnyEngine, card: Card, job: ServingJob, wanted: Wanted, presets: Presets) -> tuple[str, ...]:
    """The formats to try on *card*, the published one first; what is quantised already is left as it is."""
    if wanted.allow.weights is not None:
        own = job.checkpoint.format
        allowed = [AS_PUBLISHED if name == own else name for name in wanted.allow.weights]
        return tuple([name for name in dict.fromkeys(allowed) if native(name, card, presets)])
    if job.checkpoint.format not in DTYPE_BITS:
        return (AS_PUBLISHED,)
    return (AS_PUBLISHED, *[name for name in formats_of(engine, presets) if native(name, card, presets)])


def formats_of(engine: AnyEngine, presets: Presets) -> tuple[str, ...]:
    """The formats that the family of *engine* may be tried with, largest first."""
    table = presets.formats
    family = table.gguf if isinstance(engine, _GGUF) else table.torch if isinstance(engine, Transformers) else None
    return table.server if family is None else family


def native(name: str, card: Card, presets: Presets) -> bool:
    """Whether the kernels of *card* take the format *name*; AMD's tables of FP8 speak for themselves."""
    since = presets.formats.native_since.get(name)
    if since is None:
        return True
    if card.vendor.value == _NVIDIA:
        return (_compute(card) or (0, 0)) >= since
    return card.dense.fp8_tflops is not None if name == "fp8" else name != "nvfp4"


def devices(card: Card, wanted: Wanted) -> list[tuple[Device, str | None, int]]:
    """The whole card, and its slices where several tenants share one or slices are asked for, with copies per card."""
    found: list[tuple[Device, str | None, int]] = []
    isolation = wanted.constraints.isolation
    if isolation is not Isolation.MIG:
        found.append((whole_device(card), None, 1))
    sliced = isolation is Isolation.MIG or (wanted.instances > 1 and isolation is None)
    mig = card.mig
    if not sliced or not wanted.allow.mig or mig is None or mig.kind is not PartitionKind.MIG:
        return found
    for profile in mig.profiles:
        if profile.memory_low_bytes is not None and (profile.compute_slices < mig.compute_slices or not found):
            found.append((slice_device(card, profile.name), profile.name, profile.max_count))
    return found


def layouts(architecture: Architecture, splits: Splits, wanted: Wanted) -> dict[int, Layout]:
    """How a copy lies on 1, 2, 4 and 8 GPUs: heads divided where they divide, else layers one after the other."""
    found = {1: Layout()}
    if not wanted.allow.multi_gpu:
        return found
    heads, layers = _heads(architecture), len(architecture.layer_order)
    for count in COUNTS[1:]:
        tensor = count
        while splits is Splits.TENSOR and any(number % tensor for number in heads):
            tensor //= 2
        if splits is Splits.LAYERS:
            tensor = 1
        if count // tensor <= layers:
            found[count] = Layout(tensor=tensor, pipeline=count // tensor)
    return found


def _heads(architecture: Architecture) -> set[int]:
    return {
        heads
        for group in architecture.layer_groups
        for block in group.blocks
        if (heads := getattr(block, "query_heads", getattr(block, "heads", 0)))
    }


def holding(lots: tuple[Lot, ...], card: Card, gpus: int, mig: str | None, wanted: Wanted) -> tuple[Lot, ...]:
    """The *lots* whose machines hold a copy of *gpus*, joined as the request wants them."""
    need_link = wanted.constraints.link is WantedLink.NVLINK and gpus > 1
    return tuple(
        [
            lot
            for lot in lots
            if lot.offer.gpu_count >= gpus
            and (lot.offer.mig_profile is None or lot.offer.mig_profile == mig)
            and (not need_link or linked(lot, card))
        ]
    )


def linked(lot: Lot, card: Card) -> bool:
    """Whether NVLink joins the cards of a machine: as the offer says, or where it says nothing, by the card's build."""
    link = lot.offer.link
    if link is not None:
        return link is not OfferLink.PCIE
    nvlink = card.nvlink
    return nvlink is not None and nvlink.kind is LinkKind.NVLINK and nvlink.topology is Topology.NVSWITCH


def forms_of(
    card: Card,
    lots: tuple[Lot, ...],
    spread: Mapping[int, Layout],
    formats: tuple[str, ...],
    wanted: Wanted,
    layers: int,
) -> list[Form]:
    """Every form of one copy of *layers* on *card* that some offer can hold."""
    found = []
    for device, mig, copies in devices(card, wanted):
        for gpus, layout in spread.items():
            held = holding(lots, card, gpus, mig, wanted) if mig is None or gpus == 1 else ()
            if held and not _beyond(gpus, wanted):
                link = link_of(held, card) if gpus > 1 else None
                found += [Form(card, device, gpus, layout, name, mig, copies, link, held) for name in formats]
    if wanted.nodes > 1 and wanted.allow.multi_gpu and not sliced_only(wanted):
        found += _over_nodes(card, lots, spread, formats, wanted, layers)
    return found


def _over_nodes(
    card: Card,
    lots: tuple[Lot, ...],
    spread: Mapping[int, Layout],
    formats: tuple[str, ...],
    wanted: Wanted,
    layers: int,
) -> list[Form]:
    """Copies over whole machines: the layout of one machine, with its stages repeated on each."""
    found, device = [], whole_device(card)
    for gpus, layout in spread.items():
        held = tuple([lot for lot in holding(lots, card, gpus, None, wanted) if lot.offer.gpu_count == gpus])
        link = link_of(held, card) if gpus > 1 else None
        for nodes in range(2, min(wanted.nodes, layers // layout.pipeline) + 1) if held else ():
            if _beyond(gpus * nodes, wanted):
                break
            over = Layout(tensor=layout.tensor, pipeline=layout.pipeline * nodes)
            found += [Form(card, device, gpus * nodes, over, name, None, 1, link, held, nodes) for name in formats]
    return found


def machines_of(form: Form, gpus: int, copies: int, slices: int | None = None) -> int:
    """Machines of *gpus* that *copies* take: several copies to a machine, or several machines to a copy.

    *slices* is how many copies one GPU of the machine holds, where that is not what the form says.
    """
    if form.nodes > 1:
        return copies * form.nodes
    return math.ceil(copies / (gpus // form.gpus * (form.copies_per_gpu if slices is None else slices)))


def sliced_only(wanted: Wanted) -> bool:
    """Whether only partitions are asked for."""
    return wanted.constraints.isolation is Isolation.MIG


def _beyond(gpus: int, wanted: Wanted) -> bool:
    most = wanted.constraints.max_gpus
    return most is not None and gpus > most


def link_of(lots: tuple[Lot, ...], card: Card) -> Link | None:
    """What joins cards in every machine of *lots*: NVSwitch or a bridge, PCIe where one machine has neither."""
    if card.nvlink is None or card.nvlink.kind is not LinkKind.NVLINK:
        return None
    if not all(linked(lot, card) for lot in lots):
        return Link.PCIE
    return Link.NVSWITCH if card.nvlink.topology is Topology.NVSWITCH else Link.BRIDGE
