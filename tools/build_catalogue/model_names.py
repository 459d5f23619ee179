"""model_names.json: aliases, everyday names, repositories of the same shape, and what a bare size stands for."""

from __future__ import annotations

import pathlib
from typing import Any

import msgspec

from cardmatch.catalogue.models import Alias, ModelFamily, ModelNames, TypicalSize
from tools.build_catalogue.files import read_json, read_lines

AS_OF = "2026-11-30"
_COMPONENTS = "__"


def build(shared: pathlib.Path) -> dict[str, bytes]:
    """The model names data file from the transcribed name lists in *shared*."""
    known = {row["model"] for row in read_lines(shared / "models_index.jsonl") if _COMPONENTS not in row["model"]}
    spoken = read_json(shared / "model_aliases.json")
    names = ModelNames(
        as_of=AS_OF,
        aliases={name: _alias(name, row) for name, row in sorted(spoken["aliases"].items()) if row["id"] in known},
        families={
            name: ModelFamily(names=tuple(row["names"]), default=row["default"])
            for name, row in sorted(spoken["families"].items())
            if row["default"] in known
        },
        same_shape=_same_shape(read_json(shared / "same_shape.json")["same_shape"], known),
        sizes={name: _size(row) for name, row in read_json(shared / "typical_sizes.json")["sizes"].items()},
    )
    return {"model_names.json": msgspec.json.format(msgspec.json.encode(names), indent=1) + b"\n"}


def _alias(name: str, row: dict[str, Any]) -> Alias:
    """A GGUF repository holds several types: the usual one stands for them. A name that says 8 bits has no 4."""
    checkpoint, spelled = row.get("checkpoint"), name.lower()
    if checkpoint == "awq_int4" and ("8bit" in spelled or ("int8" in spelled and "int4" not in spelled)):
        checkpoint = "gptq_int8"
    if checkpoint == "gguf":
        checkpoint = "gguf:Q4_K_M"
    return Alias(id=row["id"], checkpoint=None if checkpoint == "mixed" else checkpoint)


def _same_shape(rows: dict[str, list[str]], known: set[str]) -> dict[str, str]:
    pairs = {like: model for model, others in rows.items() if model in known for like in others if like not in known}
    return dict(sorted(pairs.items()))


def _size(row: dict[str, Any]) -> TypicalSize:
    cache = row["kv_bytes_per_token"]
    return TypicalSize(
        reference=row["reference"],
        parameters_low=row["parameters_range"][0],
        parameters_high=row["parameters_range"][1],
        cache_bytes_per_token=cache["reference"],
        cache_bytes_per_token_low=cache["low"],
        cache_bytes_per_token_high=cache["high"],
        models=row["models"],
    )
