"""Shadeform's answer to GET /instances/types: prices in cents, one row a region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason
from cardmatch.catalogue.importers.files import Unreadable
from cardmatch.catalogue.importers.knowledge import distrusted, provider_id
from cardmatch.engine.money.offer import OfferLink, Tier

BROKER = "shadeform"
_CENTS = 100
Name = Annotated[str, Meta(min_length=1, max_length=120)]


class _Configuration(msgspec.Struct):
    gpu_type: Name
    num_gpus: Annotated[int, Meta(ge=0, le=1024)]
    vram_per_gpu_in_gb: float | None = None
    vcpus: int | None = None
    memory_in_gb: float | None = None
    interconnect: str | None = None


class _Availability(msgspec.Struct):
    region: Name
    available: bool = True


class _InstanceType(msgspec.Struct):
    cloud: Name
    shade_instance_type: Name
    configuration: _Configuration
    hourly_price: float
    cloud_instance_type: str | None = None
    availability: tuple[_Availability, ...] = ()


class _Answer(msgspec.Struct):
    instance_types: tuple[msgspec.Raw, ...]


def drafts(raw: bytes, origin: Origin) -> Iterator[Draft | Rejection]:
    """The rows of the answer. Raises Unreadable where it is none."""
    try:
        answer = msgspec.json.decode(raw, type=_Answer)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise Unreadable(f"{origin.name}: not an answer of Shadeform: {problem}") from problem
    for position, each in enumerate(answer.instance_types):
        place = f"{origin.name}#/instance_types/{position}"
        try:
            row = msgspec.json.decode(each, type=_InstanceType)
        except msgspec.DecodeError as problem:
            yield Rejection(place=place, reason=RejectReason.MALFORMED, detail=str(problem))
            continue
        yield from _regions(place, row, origin)


def _regions(place: str, row: _InstanceType, origin: Origin) -> Iterator[Draft | Rejection]:
    """One draft for each region, sold out or not: a price does not vanish with the stock."""
    provider, machine = provider_id(row.cloud), row.configuration
    if machine.num_gpus < 1:
        yield Rejection(place=place, reason=RejectReason.NO_GPU, detail=row.shade_instance_type)
        return
    if doubt := distrusted("shadeform", provider):
        yield Rejection(place=place, reason=RejectReason.DISTRUSTED_SOURCE, detail=doubt)
        return
    joined = (machine.interconnect or "").lower() if machine.num_gpus > 1 else ""
    regions = tuple(dict.fromkeys(each.region for each in row.availability)) or (None,)
    for region in regions:
        yield Draft(
            place=place,
            provider=provider,
            instance_type=f"{row.cloud}_{row.shade_instance_type}",
            card_names=_names(row),
            memory_gb=(machine.vram_per_gpu_in_gb,) if machine.vram_per_gpu_in_gb else (),
            gpu_count=machine.num_gpus,
            vcpus=machine.vcpus or None,
            ram_gb=round(machine.memory_in_gb) if machine.memory_in_gb and machine.memory_in_gb >= 1 else None,
            usd_per_hour=row.hourly_price / _CENTS if row.hourly_price > 0 else None,
            tier=Tier.BROKERED,
            broker=BROKER,
            region=region,
            link=OfferLink.PCIE if joined == "pcie" else None,
            nvlink=joined == "nvlink",
            as_of=origin.as_of,
            as_of_kind=origin.as_of_kind,
            as_of_range=origin.as_of_range,
            source=f"Shadeform API, {origin.name}",
        )


def _names(row: _InstanceType) -> tuple[str, ...]:
    """Shadeform's type names the form (`H100_sxm5`); its plain `gpu_type` and the cloud's own name come after."""
    shade = row.shade_instance_type
    count = row.configuration.num_gpus
    card = shade.removesuffix(f"x{count}") if count > 1 else shade
    names = (card, row.configuration.gpu_type, row.cloud_instance_type)
    return tuple(dict.fromkeys(name for name in names if name))
