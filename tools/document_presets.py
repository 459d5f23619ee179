"""Write docs/presets.md: what each profile, job and scenario stands for, with its source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from cardmatch.catalogue.presets import presets
from cardmatch.engine.advice.presets import Preset, Sets

PAGE = Path(__file__).resolve().parent.parent / "docs" / "presets.md"

OPENING = """\
# Presets of POST /recommend

A request may name who asks, the kind of job or the situation, as the buyers' guides divide them, instead of writing
everything out: `"profile"`, `"job": {"preset": …}` and `"scenario"`; on the command line `--profile`, `--job` and
`--scenario`. What the request states goes before its job, that before the scenario, that before the profile. Every
field that a preset filled in is listed in `assumptions`, with the preset's source in `notices`; where the guides point
to a card and the figures to another, `advice` gives the price of both for the same request. `ask_next` then asks for
the fact that the preset stands in for.

```json
{"model": "llama 3.1 8b", "job": {"preset": "small_fine_tune", "examples": 20000},
 "constraints": {"server_countries": ["eu"]}}
```

Most numbers are rules of thumb, and say so; where a published run or benchmark has them, it is named. This page is made
from `catalogue/data/presets.json` by `make docs`.
"""

SECTIONS = (
    ("Profiles", "`profile`: who asks (row 18 of the guides' table).", presets().profiles),
    ("Jobs", "`job.preset`: the kind of job (row 16).", presets().jobs),
    ("Scenarios", "`scenario`: the situation (row 23); the guides name no card for them.", presets().scenarios),
)


def page() -> str:
    """The page as it should be."""
    return OPENING + "".join(_section(*section) for section in SECTIONS)


def _section(heading: str, about: str, rows: Mapping[str, Preset]) -> str:
    head = "| name | fills in | guides' cards | from |\n| --- | --- | --- | --- |\n"
    return f"\n## {heading}\n\n{about}\n\n{head}" + "".join(_row(name, preset) for name, preset in rows.items())


def _row(name: str, preset: Preset) -> str:
    cards = ", ".join(preset.cards) or "none"
    basis = preset.basis.value.replace("_", " ")
    return f"| `{name}` | {_sets(preset.sets)} | {cards} | {basis} ({preset.as_of}): {preset.source} |\n"


def _sets(sets: Sets) -> str:
    """The part of a request, as JSON without what is at its default."""
    parts = []
    for field in sets.__struct_fields__:
        value = _stated(getattr(sets, field))
        if value:
            parts.append(f"`{json.dumps({field: value})[1:-1]}`")
    return ", ".join(parts)


def _stated(value: object) -> object:
    if not isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    tag = value.__struct_config__
    stated: dict[str, object] = {} if tag.tag_field is None else {tag.tag_field: tag.tag}
    for field in msgspec.structs.fields(value):
        inner = getattr(value, field.name)
        if inner != field.default:
            stated[field.name] = _stated(inner)
    return stated


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
