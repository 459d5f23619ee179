"""From the cards that a request names to devices with the memory that engines see."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.catalogue.names.cards import resolve_card
from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.card import Topology
from cardmatch.engine.hardware.choice import CardChoice, CustomCard, Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.device import slice_device, whole_device
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

CardName = Annotated[str, Meta(min_length=1, max_length=80, examples=["rtx-4090"])]
Cards = Annotated[tuple[CardName | CardChoice, ...], Meta(min_length=1, max_length=64)]

DEFAULT_CARDS = ("rtx-4090", "a100-sxm-40", "a100-sxm-80", "h100-sxm-80")
"""Asked about where a request names no card: the cards of the buyers' guides, smallest first."""


def resolve_placements(
    world: World, choices: tuple[str | CardChoice, ...] | None, *, copies: bool = False
) -> tuple[Placement, ...]:
    """One placement per choice, in order; *copies* as in `resolve_placement`. Raises Invalid with a pointer under
    /cards.
    """
    if choices is None:
        return tuple(resolve_placement(world, card) for card in DEFAULT_CARDS)
    placements = []
    for index, choice in enumerate(choices):
        try:
            placements.append(resolve_placement(world, choice, copies=copies))
        except Invalid as invalid:
            raise invalid.under(f"/cards/{index}") from None
    return tuple(placements)


def resolve_placement(world: World, choice: str | CardChoice, *, copies: bool = False) -> Placement:
    """The placement that *choice* means; all of several cards are joined by tensor parallelism, with *copies* by data
    parallelism, unless it says how.
    """
    if isinstance(choice, str):
        return Placement(device=whole_device(resolve_card(world, choice)))
    layout = choice.layout or (Layout(data=choice.count) if copies else Layout(tensor=choice.count))
    _check_layout(layout, choice)
    device = _device(world, choice)
    _check_device(device, layout, choice, world)
    return Placement(
        device=device,
        count=choice.count,
        layout=layout,
        layout_given=choice.layout is not None,
        link=choice.link or _own_link(world, device),
        link_given=choice.link is not None,
        occupied_bytes=choice.occupied_bytes,
        host_ram_bytes=choice.host_ram_bytes,
    )


def in_fields_given(invalid: Invalid, choices: tuple[str | CardChoice, ...] | None) -> Invalid:
    """*invalid*, where it points at a layout that was filled in, at the count that it was filled in from."""
    for index, choice in enumerate(choices or ()):
        layout = f"/cards/{index}/layout/"
        if isinstance(choice, CardChoice) and choice.layout is None:
            faults = (
                msgspec.structs.replace(each, pointer=f"/cards/{index}/count")
                if each.pointer.startswith(layout)
                else each
                for each in invalid.faults
            )
            invalid = Invalid(*faults)
    return invalid


def _own_link(world: World, device: Device) -> Link | None:
    """PCIe for a card that no other link can join, NVSwitch for those that come with it; unknown for the rest."""
    card = None if device.card is None else world.cards[device.card]
    if card is None:
        return None
    if card.nvlink is None:
        return Link.PCIE
    return Link.NVSWITCH if card.nvlink.topology is Topology.NVSWITCH else None


def _check_layout(layout: Layout, choice: CardChoice) -> None:
    if layout.gpus != choice.count:
        raise Invalid(
            Fault(
                code=FaultCode.LAYOUT_NOT_COUNT,
                pointer="/layout",
                params={"gpus": layout.gpus, "count": choice.count},
            )
        )
    if layout.expert > layout.gpus or layout.tensor % layout.decode_context:
        part = "expert" if layout.expert > layout.gpus else "decode_context"
        raise Invalid(
            Fault(
                code=FaultCode.LAYOUT_PART_TOO_LARGE,
                pointer=f"/layout/{part}",
                params={
                    "part": part,
                    "ranks": getattr(layout, part),
                    "limit": layout.gpus if part == "expert" else layout.tensor,
                },
            )
        )


def _check_device(device: Device, layout: Layout, choice: CardChoice, world: World) -> None:
    """Refuse what the hardware rules out: a model over several slices, links that a card lacks, more than all taken."""
    if device.mig is not None and layout.tensor * layout.pipeline > 1:
        raise Invalid(Fault(code=FaultCode.MIG_OVER_SEVERAL, pointer="/count", params={"card": device.card or ""}))
    card = world.cards.get(device.card or "")
    if card is not None and card.nvlink is None and choice.link not in {None, Link.PCIE}:
        raise Invalid(
            Fault(
                code=FaultCode.LINK_NOT_AVAILABLE,
                pointer="/link",
                params={"card": card.id, "link": (choice.link or Link.PCIE).value},
            )
        )
    if choice.occupied_bytes > device.memory_high_bytes:
        raise Invalid(
            Fault(
                code=FaultCode.OCCUPIED_BEYOND_MEMORY,
                pointer="/occupied_bytes",
                params={"occupied_bytes": choice.occupied_bytes, "memory_bytes": device.memory_bytes},
            )
        )


def _device(world: World, choice: CardChoice) -> Device:
    if isinstance(choice.card, CustomCard):
        if choice.mig:
            raise Invalid(Fault(code=FaultCode.MIG_ON_STATED_MEMORY, pointer="/mig"))
        return custom_device(choice.card)
    try:
        card = resolve_card(world, choice.card)
    except Invalid as invalid:
        raise invalid.under("/card") from None
    return whole_device(card) if choice.mig is None else slice_device(card, choice.mig)


def custom_device(card: CustomCard) -> Device:
    """A card of which only the memory is known."""
    return Device(
        card=None,
        physical_bytes=card.memory_bytes,
        memory_bytes=card.memory_bytes,
        memory_low_bytes=card.memory_bytes,
        memory_high_bytes=card.memory_bytes,
        bandwidth_gb_s=card.bandwidth_gb_s,
        compute_capability=card.compute_capability,
    )


def alternatives(world: World) -> tuple[Placement, ...]:
    """Other cards that a way to fit may name: those that clouds rent out, smallest memory first."""
    devices = [whole_device(world.cards[card]) for card in _ALTERNATIVES]
    return tuple([Placement(device=device, link=_own_link(world, device)) for device in devices])


_ALTERNATIVES = ("rtx-4090", "rtx-5090", "a100-sxm-40", "l40s", "a100-sxm-80", "h100-sxm-80", "h200-sxm", "b200")
