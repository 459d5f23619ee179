"""The models that ship with this release, indexed by every name, and the dialects that configurations are read by."""

from __future__ import annotations

import functools

import msgspec

from cardmatch.catalogue.bundle import read, read_bytes, read_lines
from cardmatch.catalogue.models import ModelNames, ModelRow
from cardmatch.catalogue.names.models import ModelIndex, index
from cardmatch.engine.models.config.dialects import Dialects, load_dialects


class BundledModels(msgspec.Struct, frozen=True, kw_only=True):
    """Rows by id, the index of their names, and how to read what is not among them."""

    models: dict[str, ModelRow]
    index: ModelIndex
    dialects: Dialects


@functools.cache
def bundled_models() -> BundledModels:
    """Read once a process; part of the release, so a snapshot from elsewhere does not change them."""
    models = {row.id: row for row in read_lines("models.jsonl", ModelRow)}
    return BundledModels(
        models=models,
        index=index(models, read("model_names.json", ModelNames)),
        dialects=load_dialects(read_bytes("dialects.json")),
    )
