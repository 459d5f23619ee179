"""What a command is written for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.formats import DTYPE_BITS

UNNAMED = "MODEL"
_PLAIN_LABELS = {"bf16": "BF16", "fp16": "F16", "fp32": "F32"}


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A job, the engine that runs it, and how.

    `model` is how the engine finds it; `quantised_to` the format that its weights are to be brought to, null as they
    are published; `published` the format that they are published in; `longest_tokens` the engine's maximum length that
    the verdict assumed.
    """

    model: str | None
    quantised_to: str | None
    published: str = "bf16"
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
    def beyond_model(self) -> bool:
        """Whether the length is more than the model was made for, which servers refuse unless they are told."""
        limit = self.job.architecture.maximum_context_tokens
        return limit is not None and self.longest_tokens > limit

    def recast(self, flags: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
        """The words that make an engine bring 16-bit weights to the wanted format while it loads, of *flags* for each.

        None where it cannot: then a checkpoint of its own is needed, whose name only its maker knows.
        """
        if self.quantised_to is None or self.quantised_to.startswith("gguf:"):  # a file of the user's own
            return ()
        return flags.get(self.quantised_to) if self.published in DTYPE_BITS else None

    @property
    def holds_gguf(self) -> bool:
        """Whether the repository that was named holds GGUF files of the type that is wanted."""
        return self.quantised_to is None and self.published.startswith("gguf:") and "/" in self.name

    @property
    def source(self) -> str:
        """What a server of safetensors is told to load: a repository, or a GGUF file as those are called."""
        if self.holds_gguf:
            return f"{self.name}:{self.gguf_label}"
        ready = self.quantised_to is None or not self.quantised_to.startswith("gguf:")
        return self.name if ready else f"{self.name.rpartition('/')[2]}-{self.gguf_label}.gguf"

    @property
    def gguf_label(self) -> str | None:
        """How the names of GGUF files say the format of the weights: `Q4_K_M`, `BF16`."""
        stored = self.job.checkpoint.format
        return stored.removeprefix("gguf:") if stored.startswith("gguf:") else _PLAIN_LABELS.get(stored)
