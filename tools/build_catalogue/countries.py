"""countries.json: unions, data-protection law and intelligence alliances, by ISO code."""

from __future__ import annotations

import pathlib
from typing import Any

import msgspec

from cardmatch.engine.money.country import Country
from tools.build_catalogue.files import one_row_a_line, read_json, without_defaults


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """`countries.json`, sorted by code, with the sources of each group."""
    source = read_json(shared / "countries.json")
    rows = [msgspec.convert({"code": code, **row}, Country) for code, row in sorted(source["countries"].items())]
    about = source["_about"]
    head = {"as_of": about["as_of"], "as_of_note": about["as_of_kind"], "sources": sources(about["sources"])}
    return {"countries.json": one_row_a_line(head, "countries", map(without_defaults, rows))}


def sources(listed: dict[str, Any]) -> dict[str, list[str]]:
    """The sources of each group; `as five_eyes` refers to another group's."""
    named = {group: text if isinstance(text, list) else [text] for group, text in listed.items()}
    return {group: named.get(texts[0].removeprefix("as "), texts) for group, texts in named.items()}
