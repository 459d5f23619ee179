"""A card, or a slice of one, as the device that an engine divides."""

from __future__ import annotations

from cardmatch.engine.hardware.card import Card, Mig, MigProfile, mig_profile
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid


def whole_device(card: Card) -> Device:
    """A whole card. Raises Invalid where nobody has published what engines see of it."""
    if card.visible is None or card.usable_bytes is None:
        raise Invalid(Fault(code=FaultCode.CARD_MEMORY_UNKNOWN, pointer="", params={"card": card.id}))
    return Device(
        card=card.id,
        physical_bytes=card.usable_bytes // card.devices,
        memory_bytes=card.visible.expected_bytes // card.devices,
        memory_low_bytes=card.visible.low_bytes // card.devices,
        memory_high_bytes=card.visible.high_bytes // card.devices,
        bandwidth_gb_s=card.bandwidth_gb_s / card.devices,
        compute_capability=card.compute_capability,
        vendor=card.vendor.value,
    )


def slice_device(card: Card, name: str) -> Device:
    """The MIG slice *name* of *card*, with the memory that the driver lists for it."""
    mig = card.mig
    if mig is None:
        raise Invalid(Fault(code=FaultCode.MIG_NOT_SUPPORTED, pointer="/mig", params={"card": card.id}))
    profile = mig_profile(card, name)
    if profile is None or profile.memory_low_bytes is None:
        raise Invalid(_unknown_profile(card, mig, name, profile))
    high = profile.memory_high_bytes or profile.memory_low_bytes
    return Device(
        card=card.id,
        mig=profile.name,
        physical_bytes=profile.memory_low_bytes,
        memory_bytes=profile.memory_low_bytes,
        memory_low_bytes=profile.memory_low_bytes,
        memory_high_bytes=high,
        bandwidth_gb_s=card.bandwidth_gb_s * profile.bandwidth_share,
        compute_capability=card.compute_capability,
        vendor=card.vendor.value,
    )


def _unknown_profile(card: Card, mig: Mig, name: str, found: MigProfile | None) -> Fault:
    known = [profile.name for profile in mig.profiles if profile.memory_low_bytes is not None]
    code = FaultCode.UNKNOWN_MIG_PROFILE if found is None and known else FaultCode.CARD_MEMORY_UNKNOWN
    return Fault(code=code, pointer="/mig", params={"card": card.id, "name": name}, suggestions=tuple(known))
