"""Snapshots: canonical bytes, named by their hash, refused whole when anything is off."""

import hashlib
import json
import time
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from cardmatch.catalogue.bundle import bundled_snapshot
from cardmatch.catalogue.snapshot import _SECTIONS, SCHEMA, SnapshotError, decode, encode, version_of
from cardmatch.catalogue.world import build, bundled, load

RAW = encode(bundled_snapshot())


def test_a_snapshot_comes_back_as_it_went() -> None:
    """Decoding the canonical bytes gives the same rows."""
    assert decode(RAW) == bundled_snapshot()


def test_equal_content_has_equal_bytes() -> None:
    """A second pass through bytes changes nothing, so the version is a name for the content."""
    assert encode(decode(RAW)) == RAW
    assert version_of(encode(decode(RAW))) == bundled().version


def test_any_change_of_content_changes_the_version() -> None:
    """One figure of one card is enough."""
    snapshot = bundled_snapshot()
    first, *rest = snapshot.cards
    changed = msgspec.structs.replace(first, bandwidth_gb_s=first.bandwidth_gb_s + 1)
    assert version_of(encode(msgspec.structs.replace(snapshot, cards=(changed, *rest)))) != version_of(RAW)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage",
        b"[]",
        b"\xff\xfe",
        b'{"schema": "1"}',
        RAW[:-1],
        RAW[: len(RAW) // 2],
        RAW + b"\n[]",
        RAW.replace(b'"schema":%d' % SCHEMA, b'"schema":%d' % (SCHEMA - 1)),
        RAW.replace(b'"schema":%d' % SCHEMA, b'"schema":%d' % (SCHEMA + 1)),
        RAW.replace(b'"bandwidth_gb_s":', b'"bandwidth":', 1),
        RAW.replace(b'"memory_gb":24', b'"memory_gb":-24', 1),
        b"[" * 100_000,
    ],
)
def test_what_is_not_a_snapshot_is_refused(raw: bytes) -> None:
    """Garbage, truncation, other schemas and rows out of bounds all raise the one error that publishers catch."""
    with pytest.raises(SnapshotError):
        decode(raw)


# Of each number of the schema that was ever released, the shape of its rows. Entries stay; a new number adds one.
SHAPES = {1: "4440664c4ca07233"}


def _shape() -> str:
    """The digest of everything that decides which rows are taken: fields, types and bounds, not words about them."""
    rows, parts = msgspec.json.schema_components(_SECTIONS.values())
    plain = _without_words([dict(zip(_SECTIONS, rows, strict=True)), parts])
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _without_words(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_words(each) for each in node]
    if isinstance(node, dict):
        words = {"description", "title", "examples"}
        kept = {key: each for key, each in node.items() if not (key in words and not isinstance(each, dict))}
        return {key: _without_words(each) for key, each in kept.items()}
    return float(node) if isinstance(node, int | float) and not isinstance(node, bool) else node


def test_another_shape_of_rows_has_another_number() -> None:
    """Processes of two releases share one Redis: rows that one of them would refuse must not bear a number it knows."""
    assert SHAPES[SCHEMA] == _shape(), "the rows have changed: raise snapshot.SCHEMA and add its shape to SHAPES"
    assert max(SHAPES) == SCHEMA
    assert len(set(SHAPES.values())) == len(SHAPES)


def test_the_shape_follows_every_change_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more bound on one field is enough."""
    before = _shape()
    monkeypatch.setitem(_SECTIONS, "unlisted_cards", Annotated[str, Meta(max_length=121)])
    assert _shape() != before


def test_the_published_bytes_give_the_bundled_world() -> None:
    """A process that reads the bytes from elsewhere answers exactly as one that reads the package."""
    assert load(RAW) == bundled()


def test_a_world_is_named_by_its_snapshot() -> None:
    """The version is the 64 hex digits of a SHA-256."""
    assert build(bundled_snapshot(), version_of(RAW)).version == version_of(RAW)
    assert len(version_of(RAW)) == 64


def test_the_bundled_world_is_ready_at_once() -> None:
    """Reading, checking and indexing the bundled data costs a small part of the second that a start may take."""
    bundled.cache_clear()
    start = time.process_time()
    bundled()
    assert time.process_time() - start < 0.3


def test_a_large_snapshot_is_ready_within_ten_milliseconds() -> None:
    """Hashing, checking and indexing 1.5 MB holds up a server by less than 10 ms, even on its event loop."""
    snapshot = bundled_snapshot()
    copies = [msgspec.structs.replace(offer, id=f"{offer.id}-{n}") for n in range(5) for offer in snapshot.offers]
    raw = encode(msgspec.structs.replace(snapshot, offers=tuple(sorted(copies, key=lambda offer: offer.id))))
    assert len(raw) > 1_500_000
    times = []
    for _ in range(10):
        start = time.process_time()
        load(raw)
        times.append(time.process_time() - start)
    assert min(times) < 0.010


def test_no_line_of_a_snapshot_is_long() -> None:
    """A thread that decodes a snapshot lets go of the interpreter after each line, so lines are short."""
    assert max(map(len, RAW.split(b"\n"))) < 256 << 10
