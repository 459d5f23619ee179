"""providers.json: who rents out cards, and on what terms."""

from __future__ import annotations

import pathlib

import msgspec

from cardmatch.engine.money.provider import Provider
from tools.build_catalogue.files import one_row_a_line, read_json, without_defaults


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """`providers.json`, sorted by id."""
    source = read_json(shared / "providers.json")
    rows = sorted(msgspec.convert(source["providers"], tuple[Provider, ...]), key=lambda row: row.id)
    head = {"as_of": source["_about"]["retrieved"]}
    return {"providers.json": one_row_a_line(head, "providers", map(without_defaults, rows))}
