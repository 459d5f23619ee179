"""Truth rows, one JSON object a line; the schema is the one of the truth folder that cases come from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

COMMITTED = Path(__file__).resolve().parent / "cases"
Outcome = Literal["ran", "refused", "oom"]
_REPOSITORY = re.compile(r"https?://(?:github\.com|huggingface\.co)/[^/\s]+/[^/\s]+")


class CaseModel(msgspec.Struct, frozen=True, kw_only=True):
    """Which model a row speaks of: a catalogue reference, or the few configuration keys that it needs."""

    ref: str | None
    config: dict[str, Any] | None
    checkpoint: str | None
    file_gib: float | None = None
    parameters: float | None = None
    note: str | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One measured case. `setup` and `measured` have the fields of the row's family; null where not stated."""

    id: str
    family: str
    source: str
    exclude: str | None
    model: CaseModel
    setup: dict[str, Any]
    measured: dict[str, Any]
    outcome: Outcome = "ran"
    note: str | None = None

    @property
    def origin(self) -> str:
        """Who measured: the repository of a public address, else the address itself, without the row of a table."""
        found = _REPOSITORY.match(self.source)
        return found.group(0) if found else self.source.partition(", row ")[0]


class Skipped(Exception):  # noqa: N818 - it is what happens to the row, not an error
    """The row cannot be scored; the reason is one of few, and counted."""


def read_cases(folder: Path, family: str) -> tuple[Case, ...]:
    """The rows of *family* in *folder*; none where the file is missing. Raises msgspec.ValidationError."""
    path = folder / f"{family}.jsonl"
    if not path.exists():
        return ()
    decoder = msgspec.json.Decoder(Case)
    return tuple(decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip())
