"""gpuhunt's catalogue: a folder (or zip) of `<provider>.csv`, or what its own library answers."""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Iterable, Iterator

from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection, RejectReason, number, whole
from cardmatch.catalogue.importers.files import LARGEST_FILE_BYTES, Unreadable, table
from cardmatch.catalogue.importers.knowledge import CloudRules, distrusted, knowledge, provider_id

Row = dict[str, str]
_COLUMNS = ("instance_name", "location", "price", "gpu_count", "gpu_name")
_MORE = ("cpu", "memory", "gpu_memory", "spot")


def drafts(raw: bytes, provider: str, origin: Origin) -> Iterator[Draft | Rejection]:
    """The rows of one provider's CSV file. Raises Unreadable where it is not one of gpuhunt's."""
    yield from _drafts(table(raw, f"{provider}.csv"), provider, origin)


def unzipped(raw: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Provider and content of each CSV file in a catalogue archive. Raises Unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".csv")]
            if sum(member.file_size for member in members) > LARGEST_FILE_BYTES:
                raise Unreadable(f"{name}: unpacks to more than {LARGEST_FILE_BYTES >> 20} MiB")
            for member in members:
                yield member.filename.rpartition("/")[2].removesuffix(".csv"), archive.read(member)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
        raise Unreadable(f"{name}: {problem}") from problem


def from_library(origin: Origin) -> Iterator[Draft | Rejection]:
    """What the installed library knows today. Raises Unreadable where it is not installed or cannot answer."""
    try:
        library = importlib.import_module("gpuhunt")
        items = library.query()
    except ImportError as missing:
        raise Unreadable("gpuhunt is not installed: pip install cardmatch[gpuhunt]") from missing
    except Exception as problem:
        raise Unreadable(f"gpuhunt: {problem!r}"[:300]) from problem
    by_provider: dict[str, list[tuple[str, Row]]] = {}
    for position, item in enumerate(items):
        row = {name: "" if (value := getattr(item, name, None)) is None else str(value) for name in (*_COLUMNS, *_MORE)}
        by_provider.setdefault(str(item.provider), []).append((f"gpuhunt[{position}]", row))
    for provider, rows in by_provider.items():
        yield from _drafts(rows, provider, origin)


def _drafts(rows: Iterable[tuple[str, Row]], provider: str, origin: Origin) -> Iterator[Draft | Rejection]:
    for place, row in rows:
        if missing := [name for name in _COLUMNS if name not in row]:
            raise Unreadable(f"{place}: no columns {', '.join(missing)}")
        yield _draft(place, row, provider, origin)


def _draft(place: str, row: Row, named: str, origin: Origin) -> Draft | Rejection:
    provider = provider_id(named)
    if not row["gpu_name"] or not whole(row["gpu_count"]):
        return Rejection(place=place, reason=RejectReason.NO_GPU, detail=row["instance_name"])
    if doubt := distrusted("gpuhunt", provider):
        return Rejection(place=place, reason=RejectReason.DISTRUSTED_SOURCE, detail=doubt)
    rules = knowledge().clouds.get(provider, CloudRules())
    price, spot = number(row["price"]), row.get("spot", "").lower() == "true"
    memory = number(row.get("gpu_memory"))
    instance = row["instance_name"] or f"{row['gpu_count']}x {row['gpu_name']}"
    return Draft(
        place=place,
        provider=provider,
        instance_type=instance,
        card_names=(row["gpu_name"],) if provider == "vast" else (instance, row["gpu_name"]),
        memory_gb=() if memory is None else (memory,),
        gpu_count=whole(row["gpu_count"]) or 1,
        vcpus=whole(row.get("cpu")),
        ram_gb=whole(row.get("memory")),
        usd_per_hour=None if spot else price,
        spot_usd_per_hour=price if spot else None,
        price_kind=rules.price_kind,
        tier=rules.tier,
        region=row["location"] or None,
        as_of=origin.as_of,
        as_of_kind=origin.as_of_kind,
        as_of_range=origin.as_of_range,
        source=f"gpuhunt catalogue, {named}",
    )
