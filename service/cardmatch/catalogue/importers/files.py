"""Local files and folders: what is in them, and on which day they were written."""

from __future__ import annotations

import csv
import datetime as dt
import io
import pathlib
from collections.abc import Iterator

from cardmatch.catalogue.importers.draft import Origin
from cardmatch.engine.money.offer import AsOfKind

LARGEST_FILE_BYTES = 256 << 20


class Unreadable(ValueError):  # noqa: N818 - it reads as a statement about the source
    """A source cannot be read at all: missing, too large, or not what it claims to be."""


def read_file(path: pathlib.Path) -> bytes:
    """The bytes of *path*. Raises Unreadable."""
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise Unreadable(f"{path}: larger than {LARGEST_FILE_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as problem:
        raise Unreadable(f"{path}: {problem.strerror}") from problem


def files_below(path: pathlib.Path, *suffixes: str) -> list[pathlib.Path]:
    """*path* itself, or every file below it with one of the *suffixes*, sorted. Raises Unreadable where none is."""
    if path.is_file():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix.lower() in suffixes and each.is_file())
    if not found:
        raise Unreadable(f"{path}: no {' or '.join(suffixes)} file")
    return found


def origin_of(path: pathlib.Path, as_of: dt.date | None) -> Origin:
    """The file as a source: its prices held on *as_of*, or at the latest on the day that it was written."""
    if as_of is not None:
        return Origin(name=path.name, as_of=as_of, as_of_kind=AsOfKind.EXACT)
    written = dt.datetime.fromtimestamp(path.stat().st_mtime, tz=dt.UTC).date()
    return Origin(name=path.name, as_of=written, as_of_kind=AsOfKind.ESTIMATED)


def table(raw: bytes, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its place (`name:line`). Raises Unreadable."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Unreadable(f"{name}: not UTF-8 at byte {problem.start}") from problem
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            yield f"{name}:{reader.line_num}", {key: value or "" for key, value in row.items() if isinstance(key, str)}
    except csv.Error as problem:
        raise Unreadable(f"{name}:{reader.line_num}: {problem}") from problem
