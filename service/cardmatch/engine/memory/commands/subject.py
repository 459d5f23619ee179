"""What a command is written for."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement

UNNAMED = "MODEL"
_PLAIN_LABELS = {"bf16": "BF16", "fp16": "F16", "fp32": "F32"}


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A job, the engine that runs it, and how.

    `model` is how the engine finds it; `quantised_to` the format that its weights are to be brought to, null as they
    are published; `longest_tokens` the engine's maximum length that the verdict assumed.
    """

    model: str | None
    quantised_to: str | None
    job: ServingJob
    engine: Any
    placement: Placement
    longest_tokens: int

    @property
    def layout(self) -> Layout:
        """How the model is spread."""
        return self.placement.layout

    @property
    def name(self) -> str:
        """The model as published, or a word that stands for it."""
        return self.model or UNNAMED

    @property
    def quantised_name(self) -> str:
        """The model in the format that is wanted: a checkpoint of its own, whose name only its maker knows."""
        if self.quantised_to is None:
            return self.name
        base = self.name.rpartition("/")[2]
        return (
            f"{base}-{self.gguf_label}.gguf" if self.quantised_to.startswith("gguf:") else f"{base}-{self.quantised_to}"
        )

    @property
    def gguf_label(self) -> str | None:
        """How the names of GGUF files say the format of the weights: `Q4_K_M`, `BF16`."""
        stored = self.job.checkpoint.format
        return stored.removeprefix("gguf:") if stored.startswith("gguf:") else _PLAIN_LABELS.get(stored)
