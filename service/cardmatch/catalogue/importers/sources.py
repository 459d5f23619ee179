"""Where prices can come from: `KIND:LOCATION`, as `--from` takes it, and how each kind is read."""

from __future__ import annotations

import datetime as dt
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from urllib.parse import urlsplit

import msgspec

from cardmatch.catalogue.importers import gpuhunt, own, shadeform, skypilot
from cardmatch.catalogue.importers.draft import Draft, Origin, Rejection
from cardmatch.catalogue.importers.fetch import fetch
from cardmatch.catalogue.importers.files import Unreadable, files_below, origin_of, read_file
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.money.offer import AsOfKind
from cardmatch.engine.money.provider import Provider

Rows = Iterator[Draft | Rejection]


class SourceKind(StrEnum):
    """Which importer reads a source."""

    OWN = "own"
    SKYPILOT = "skypilot"
    GPUHUNT = "gpuhunt"
    SHADEFORM = "shadeform"


# A catalogue lists all that a provider has; an operator's own file may add or correct a row.
COMPLETE = frozenset({SourceKind.SKYPILOT, SourceKind.GPUHUNT, SourceKind.SHADEFORM})


class Source(msgspec.Struct, frozen=True):
    """A source to read: an importer, and a path, a URL, or nothing where a library is asked."""

    kind: SourceKind
    location: str

    @property
    def is_url(self) -> bool:
        """Whether the location is fetched rather than opened."""
        return self.location.startswith(("https://", "http://"))


class Batch(msgspec.Struct, kw_only=True):
    """What one source brings."""

    source: Source
    rows: Rows
    providers: tuple[Provider, ...] = ()
    cards: tuple[Card, ...] = ()


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What reading depends on besides the source: the day, a day to put on the prices, a folder for fetched bodies."""

    today: dt.date
    as_of: dt.date | None = None
    cache: pathlib.Path | None = None
    environ: Mapping[str, str] = os.environ


def parse(text: str) -> Source:
    """`skypilot:/data/catalogs`, `gpuhunt:`, `https://…/prices.json` (an own file) … as a Source. Raises ValueError."""
    kind, colon, location = text.partition(":")
    if colon and kind in set(SourceKind):
        return Source(SourceKind(kind), location)
    if not text:
        raise ValueError("empty source")
    return Source(SourceKind.OWN, text)


def read(source: Source, circumstances: Circumstances) -> Iterator[Batch]:
    """What *source* holds, file by file. Raises Unreadable."""
    if source.kind is SourceKind.GPUHUNT and not source.location:
        yield Batch(source=source, rows=gpuhunt.from_library(_today("gpuhunt", circumstances)))
    elif source.is_url:
        yield from _fetched(source, circumstances)
    else:
        yield from _opened(source, circumstances)


def _fetched(source: Source, circumstances: Circumstances) -> Iterator[Batch]:
    key = circumstances.environ.get("SHADEFORM_API_KEY") if source.kind is SourceKind.SHADEFORM else None
    fetched = fetch(source.location, cache=circumstances.cache, headers={"X-API-KEY": key} if key else None)
    path = pathlib.PurePosixPath(urlsplit(source.location).path)
    yield from _READERS[source.kind](source, path, fetched.body, _today(path.name, circumstances))


def _opened(source: Source, circumstances: Circumstances) -> Iterator[Batch]:
    root = pathlib.Path(source.location).expanduser()
    if not root.exists():
        raise Unreadable(f"{root}: no such file or folder")
    files = files_below(root, *_SUFFIXES[source.kind])
    for path in skypilot.newest_files(files) if source.kind is SourceKind.SKYPILOT else files:
        origin = origin_of(path, circumstances.as_of)
        yield from _READERS[source.kind](source, path, read_file(path), origin)


def _today(name: str, circumstances: Circumstances) -> Origin:
    """A live answer holds today, unless the operator says otherwise."""
    return Origin(name=name, as_of=circumstances.as_of or circumstances.today, as_of_kind=AsOfKind.EXACT)


def _own(source: Source, path: pathlib.PurePath, raw: bytes, origin: Origin) -> Iterable[Batch]:
    file = own.read(raw, path.name)
    yield Batch(source=source, rows=own.drafts(file, origin), providers=file.providers, cards=file.cards)


def _skypilot(source: Source, path: pathlib.PurePath, raw: bytes, origin: Origin) -> Iterable[Batch]:
    yield Batch(source=source, rows=skypilot.drafts(raw, skypilot.cloud_of(path), origin))


def _gpuhunt(source: Source, path: pathlib.PurePath, raw: bytes, origin: Origin) -> Iterable[Batch]:
    files = gpuhunt.unzipped(raw, path.name) if path.suffix == ".zip" else ((path.stem, raw),)
    for provider, content in files:
        yield Batch(source=source, rows=gpuhunt.drafts(content, provider, origin))


def _shadeform(source: Source, _: pathlib.PurePath, raw: bytes, origin: Origin) -> Iterable[Batch]:
    yield Batch(source=source, rows=shadeform.drafts(raw, origin))


_Reader = Callable[[Source, pathlib.PurePath, bytes, Origin], Iterable[Batch]]
_READERS: dict[SourceKind, _Reader] = {
    SourceKind.OWN: _own,
    SourceKind.SKYPILOT: _skypilot,
    SourceKind.GPUHUNT: _gpuhunt,
    SourceKind.SHADEFORM: _shadeform,
}
_SUFFIXES = {
    SourceKind.OWN: own.SUFFIXES,
    SourceKind.SKYPILOT: (".csv",),
    SourceKind.GPUHUNT: (".csv", ".zip"),
    SourceKind.SHADEFORM: (".json",),
}
