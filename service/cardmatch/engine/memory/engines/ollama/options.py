"""Ollama's options. Sources: ollama v0.32.15 envconfig/config.go, api/types.go."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.command_line import CommandLine
from cardmatch.engine.memory.engines.llama_cpp.options import (
    Batch,
    Draft,
    FlashAttention,
    LayerCount,
    Slots,
)
from cardmatch.engine.terms.units import GivenBytes, Tokens

CURRENT_VERSION = "0.32.15"
Version = Annotated[str, Meta(pattern=r"^[0-9]{1,2}\.[0-9]{1,3}(\.[0-9]{1,3})?$(?!\n)", examples=[CURRENT_VERSION])]


class Ollama(msgspec.Struct, tag="ollama", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ollama, at its own defaults where nothing is said; `num_ctx` is the length of one request."""

    version: Version = CURRENT_VERSION
    args: CommandLine | None = None
    num_ctx: Tokens | None = None
    num_ctx_by_memory: Annotated[
        bool, Meta(description="Without num_ctx: the length that Ollama takes for so much GPU memory.")
    ] = False
    num_parallel: Annotated[
        Slots | None, Meta(description="OLLAMA_NUM_PARALLEL; null: the workload's concurrency.")
    ] = None
    num_batch: Annotated[Batch | None, Meta(description="null: by the length and the room that is left.")] = None
    num_gpu: LayerCount | None = None
    flash_attention: FlashAttention = FlashAttention.AUTO
    gpu_overhead_bytes: Annotated[GivenBytes, Meta(description="OLLAMA_GPU_OVERHEAD, left free on every GPU.")] = 0
    draft: Draft | None = None
    draft_tokens: Annotated[int, Meta(ge=0, le=64)] = 4
    mmproj: Annotated[bool | None, Meta(description="Load the image projector; null: where the model has one.")] = None


def version_of(options: Ollama) -> tuple[int, ...]:
    """The version as numbers."""
    return tuple(int(part) for part in options.version.split("."))
