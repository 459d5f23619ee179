"""offers.jsonl: the market as it was transcribed, one offer a line, nulls left out."""

from __future__ import annotations

import pathlib

import msgspec

from cardmatch.engine.money.offer import Offer
from tools.build_catalogue.files import lines, read_lines, without_defaults


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """`offers.jsonl`, sorted by id."""
    rows = msgspec.convert(read_lines(shared / "offers.jsonl"), tuple[Offer, ...])
    return {"offers.jsonl": lines(without_defaults(row) for row in sorted(rows, key=lambda row: row.id))}
