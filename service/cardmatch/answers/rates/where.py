"""Where a prediction runs: the cards that an option rents, as the memory and speed rooms see them."""

from __future__ import annotations

import msgspec

from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.card import Card, mig_profile
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.device import slice_device, whole_device
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.money.copies import Copies
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.option import Option
from cardmatch.engine.money.price import CallerPrice, OfferPrice
from cardmatch.engine.speed.band import SpeedBand
from cardmatch.engine.speed.chip import Chip, chip_of
from cardmatch.engine.speed.throughput import Throughput, WorkUnit
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Assumption, Scalar


class Where(msgspec.Struct, frozen=True):
    """The GPUs that do the work of an option: all alike, `placement.count` of them, in so many *machines*."""

    card: Card
    chip: Chip
    placement: Placement
    machines: int = 1

    def copies(self) -> Placement:
        """The placement with a copy of the model on each GPU."""
        return msgspec.structs.replace(self.placement, layout=Layout(data=self.placement.count))

    def too_small(self) -> Invalid:
        """The model does not fit here."""
        return refusal(FaultCode.MODEL_DOES_NOT_FIT, "/model", card=self.card.id, count=self.placement.count)


def where(world: World, option: Option, count: int, copies: Copies | None = None) -> Where:
    """The *count* cards of *option* that do its work. Raises Invalid where it names none, or no such slice."""
    offer = _offer(world, option)
    name = option.card or (offer.card if offer else None)
    if name is None:
        raise refusal(FaultCode.NEEDS_FIELD, "/kind", field="card")
    card = world.cards[name]
    mig = (copies.mig if copies else None) or (offer.mig_profile if offer else None)
    link = copies.link if copies else None
    if link is None and offer and offer.link:
        link = Link(offer.link.value)
    nodes = copies.nodes if copies else 1
    return Where(
        card,
        chip_of(card, mig_profile(card, mig) if mig else None),
        Placement(device=_slice(card, mig) if mig else whole_device(card), count=count, link=link, nodes=nodes),
        max(nodes, -(-count // (_gpus_each(option, offer) or count))),
    )


def _slice(card: Card, name: str) -> Device:
    try:
        return slice_device(card, name)
    except Invalid as invalid:
        raise invalid.under("/copies") from None


def _gpus_each(option: Option, offer: Offer | None) -> int | None:
    """GPUs of one machine, where that is said."""
    if isinstance(option.price, CallerPrice):
        return option.price.gpus_per_instance
    return offer.gpu_count if offer else None


def _offer(world: World, option: Option) -> Offer | None:
    return world.offers.get(option.price.offer) if isinstance(option.price, OfferPrice) else None


def in_units(unit: WorkUnit, band: SpeedBand, each: float = 1.0) -> Throughput:
    """The rate of *band*, of whose units *each* make up one *unit*, times over."""
    return Throughput(
        unit=unit,
        low_units_per_second=band.low * each,
        expected_units_per_second=band.expected * each,
        high_units_per_second=band.high * each,
        basis=band.basis,
    )


def told(*assumptions: Assumption) -> tuple[tuple[str, Scalar], ...]:
    """Pointers and values of *assumptions*, below the prediction."""
    return tuple([(each.pointer, each.value) for each in assumptions])
