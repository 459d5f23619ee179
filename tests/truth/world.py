"""What rows refer to: the catalogue's cards and models, and configurations from a folder beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.catalogue.world import World, bundled
from cardmatch.engine.memory.device import whole_device
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.model import Model, read_model
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import CaseModel, Skipped


class TruthWorld:
    """Resolves the names of rows. *configs* is a folder of config.json files that come before the catalogue's."""

    def __init__(self, configs: Path | None = None) -> None:
        self.catalogue: World = bundled()
        self.dialects: Dialects = self.catalogue.dialects
        self._configs = configs
        self._read: dict[str, Model] = {}

    def model(self, asked: CaseModel) -> Model:
        """Architecture and checkpoint that a row names. Raises Skipped."""
        if asked.ref is None and asked.config is None:
            raise Skipped("no model named")
        key = asked.ref or json.dumps(asked.config, sort_keys=True)
        if key not in self._read:
            self._read[key] = self._resolve(asked)
        return self._read[key]

    def _resolve(self, asked: CaseModel) -> Model:
        if asked.ref is None:
            return self._from_config(asked.config or {})
        path = None if self._configs is None else self._configs / f"{asked.ref.replace('/', '__')}.json"
        if path is not None and path.exists():
            return self._from_config(json.loads(path.read_text(encoding="utf-8")))
        row = self.catalogue.models.get(asked.ref)
        if row is None:
            raise Skipped("model not in the catalogue")
        return Model(architecture=row.architecture, checkpoint=row.checkpoint)

    def _from_config(self, config: Mapping[str, Any]) -> Model:
        try:
            return read_model(config, self.dialects, complete=False)  # a row has only what its source prints
        except Invalid as invalid:
            raise Skipped(f"model not readable: {invalid}") from None

    def device(self, card: str | None, memory_gib: float | None) -> Device | None:
        """The card of a row, with the memory that its log printed where it did; None where neither is known."""
        known = None
        if card is not None and card in self.catalogue.cards:
            try:
                known = whole_device(self.catalogue.cards[card])
            except Invalid:
                known = None
        if memory_gib is None:
            return known
        size = int(memory_gib * GIB)
        if known is None:
            return Device(
                card=card, physical_bytes=size, memory_bytes=size, memory_low_bytes=size, memory_high_bytes=size
            )
        return msgspec.structs.replace(known, memory_bytes=size, memory_low_bytes=size, memory_high_bytes=size)
