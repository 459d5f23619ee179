"""SkyPilot's catalogue: a folder of `<cloud>/vms.csv`, or one such file."""

from __future__ import annotations

import ast
import functools
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason, number, whole
from cardmatch.catalogue.importers.files import Unreadable, table
from cardmatch.catalogue.importers.gcp import whole_machines
from cardmatch.catalogue.importers.knowledge import CloudRules, distrusted, knowledge, provider_id
from cardmatch.engine.money.offer import NativePrice, PriceUnit, Tier

_TPU = re.compile(r"^tpu-(v\d+[a-z]*)-(\d+)$")
_CORES_A_CHIP = {"v5p": 2}
Row = dict[str, str]


def newest_files(files: list[pathlib.Path]) -> list[pathlib.Path]:
    """Of several schema versions (`v7/aws/vms.csv`, `v8/aws/vms.csv`) only the newest of each cloud."""
    newest: dict[str, tuple[int, pathlib.Path]] = {}
    for path in files:
        if path.stem not in {"vms", *knowledge().clouds}:
            continue
        version = max((int(part[1:]) for part in path.parts if re.fullmatch(r"v\d+", part)), default=0)
        cloud = cloud_of(path)
        if cloud not in newest or version > newest[cloud][0]:
            newest[cloud] = version, path
    if not newest:
        raise Unreadable(f"{files[0].parent}: no <cloud>/vms.csv")
    return [newest[cloud][1] for cloud in sorted(newest)]


def cloud_of(path: pathlib.PurePath) -> str:
    """The cloud that a file is about: its folder, or the file's own name."""
    return path.parent.name if path.stem == "vms" else path.stem


def drafts(raw: bytes, cloud: str, origin: Origin) -> Iterator[Draft | Rejection]:
    """The rows of one cloud's file. Raises Unreadable where it is not one of SkyPilot's."""
    rules = knowledge().clouds.get(cloud, CloudRules())
    rows = table(raw, f"{cloud}/{origin.name}")
    if rules.gpus_apart:
        rows = _whole(rows)
    for place, row in rows:
        if "InstanceType" not in row or "Price" not in row:
            raise Unreadable(f"{place}: no columns InstanceType and Price")
        yield _draft(place, row, cloud, rules, origin)


def _whole(rows: Iterator[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    """Rows whose host and GPUs have one price each, added up."""
    return iter(whole_machines(list(rows)))


def _draft(place: str, row: Row, cloud: str, rules: CloudRules, origin: Origin) -> Draft | Rejection:
    provider = _provider(row, cloud, rules)
    if not row.get("AcceleratorName"):
        reason = RejectReason.HOST_WITHOUT_GPU_PRICE if row.get("_host") else RejectReason.NO_GPU
        return Rejection(place=place, reason=reason, detail=row["InstanceType"])
    count = number(row.get("AcceleratorCount"))
    if count is not None and count < 1:
        return Rejection(place=place, reason=RejectReason.FRACTIONAL_GPU, detail=f"{count:g} of a card")
    if row.get("_gpu_only"):
        return Rejection(place=place, reason=RejectReason.PRICE_WITHOUT_HOST, detail=row["AcceleratorName"])
    if doubt := distrusted("skypilot", provider):
        return Rejection(place=place, reason=RejectReason.DISTRUSTED_SOURCE, detail=doubt)
    usd = number(row["Price"])
    if usd in rules.placeholder_usd:
        return Rejection(place=place, reason=RejectReason.PLACEHOLDER_PRICE, detail=f"{usd} USD")
    names, count = _card_names(row, rules)
    unverified = usd is not None and rules.currency_unverified
    return Draft(
        place=place,
        provider=provider,
        instance_type=_instance(row, rules),
        card_names=names,
        memory_gb=_memory(row.get("GpuInfo", ""), count),
        gpu_count=count,
        vcpus=whole(row.get("vCPUs")),
        ram_gb=whole(row.get("MemoryGiB")),
        usd_per_hour=None if unverified else usd,
        spot_usd_per_hour=number(row.get("SpotPrice")),
        price_kind=rules.price_kind,
        price_native=NativePrice(amount=usd, currency=None, unit=PriceUnit.HOUR) if usd and unverified else None,
        tier=_tier(row, rules),
        broker=rules.broker,
        region=row.get("Region") or None,
        as_of=origin.as_of,
        as_of_kind=origin.as_of_kind,
        as_of_range=origin.as_of_range,
        source=f"SkyPilot catalogue, {cloud}/{origin.name}",
        note=rules.note,
    )


def _provider(row: Row, cloud: str, rules: CloudRules) -> str:
    found = re.match(rules.provider_pattern, row["InstanceType"]) if rules.provider_pattern else None
    return provider_id(found["provider"] if found else cloud)


def _instance(row: Row, rules: CloudRules) -> str:
    """The provider's own name of the instance; the halves of a row that list and spot share become one."""
    name = (row.get("UpstreamCloudId") if rules.upstream else None) or row["InstanceType"] or row["AcceleratorName"]
    return name.removesuffix(rules.spot_suffix) if rules.spot_suffix else name


def _card_names(row: Row, rules: CloudRules) -> tuple[tuple[str, ...], int]:
    """Names to try, the most telling first, and the number of cards."""
    count = whole(row.get("AcceleratorCount")) or 1
    accelerator = row["AcceleratorName"]
    if pod := _TPU.match(accelerator):
        return (f"TPU {pod[1]}",), max(int(pod[2]) // _CORES_A_CHIP.get(pod[1], 1), 1)
    if accelerator in rules.cards:
        return (rules.cards[accelerator],), count
    gpu = _gpu(row.get("GpuInfo", "")).name
    instance = _instance(row, rules)
    named = _named(instance, rules, "card")
    telling = (gpu, named, instance) if rules.names_first == "gpu" else (named, instance, gpu)
    return tuple(dict.fromkeys(name for name in (*telling, accelerator) if name)), count


def _named(instance: str, rules: CloudRules, group: str) -> str | None:
    for pattern in rules.patterns:
        found = re.match(pattern, instance)
        if found and group in found.re.groupindex:
            return found[group]
    return None


def _tier(row: Row, rules: CloudRules) -> Tier:
    named = _named(row["InstanceType"], rules, "tier")
    return Tier(named.lower()) if named else rules.tier


class _Gpu(msgspec.Struct, frozen=True):
    name: str | None = None
    mib: float = 0.0


@functools.lru_cache(maxsize=4096)
def _gpu(info: str) -> _Gpu:
    """Name and memory in the GpuInfo column, which is a Python literal in some files and JSON in others."""
    try:
        parsed: Any = json.loads(info) if '"Gpus"' in info else ast.literal_eval(info)
        first = parsed["Gpus"][0]
        return _Gpu(name=str(first["Name"]), mib=float(first["MemoryInfo"]["SizeInMiB"]))
    except (ValueError, SyntaxError, KeyError, IndexError, TypeError, MemoryError, RecursionError):
        return _Gpu()


def _memory(info: str, count: int) -> tuple[float, ...]:
    """Readings of `SizeInMiB` in GB per card: it may be MiB or GB, of one card or of all."""
    value = _gpu(info).mib
    if value <= 0:
        return ()
    per_card = (value, value / count) if count > 1 else (value,)
    return tuple(round(size / unit, 2) for size in per_card for unit in (1024, 1))
