"""Ollama's options, and the llama-server that it starts with them.

Sources: ollama v0.32.15 envconfig/config.go, api/types.go (DefaultOptions), llm/llama_server.go: since 0.30 Ollama
starts an unchanged llama-server (LLAMA_CPP_VERSION b10488); before, a runner of its own kept full-size windows and all
logits.
"""

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
    LlamaCpp,
    Slots,
)
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.terms.units import GivenBytes, Tokens

CURRENT_VERSION = "0.32.15"
Version = Annotated[str, Meta(pattern=r"^[0-9]{1,2}\.[0-9]{1,3}(\.[0-9]{1,3})?$(?!\n)", examples=[CURRENT_VERSION])]
_SERVER_SINCE = (0, 30)
_SERVER_BUILD = "b10488"
_RUNNER_BUILD = "b6000"


class Ollama(msgspec.Struct, tag="ollama", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ollama, at its own defaults where nothing is said; `num_ctx` is the length of one request."""

    version: Version = CURRENT_VERSION
    args: CommandLine | None = None
    num_ctx: Tokens | None = None
    num_parallel: Annotated[
        Slots | None, Meta(description="OLLAMA_NUM_PARALLEL; null: the workload's concurrency.")
    ] = None
    num_batch: Batch = 512
    num_gpu: LayerCount | None = None
    flash_attention: FlashAttention = FlashAttention.AUTO
    gpu_overhead_bytes: Annotated[GivenBytes, Meta(description="OLLAMA_GPU_OVERHEAD, left free on every GPU.")] = 0
    draft: Draft | None = None
    draft_tokens: Annotated[int, Meta(ge=0, le=64)] = 4
    mmproj: Annotated[bool | None, Meta(description="Load the image projector; null: where the model has one.")] = None


def as_llama_cpp(options: Ollama, job: ServingJob) -> LlamaCpp:
    """The llama-server that Ollama starts: a cache of `num_ctx` for each slot, micro-batches of `num_batch`."""
    major, minor = (int(part) for part in options.version.split(".")[:2])
    served = (major, minor) >= _SERVER_SINCE
    slots = options.num_parallel or min(job.concurrency, 256)
    towers = bool(job.architecture.towers)
    return LlamaCpp(
        version=_SERVER_BUILD if served else _RUNNER_BUILD,
        n_ctx=options.num_ctx * slots if options.num_ctx else None,
        n_batch=options.num_batch,
        n_ubatch=options.num_batch,
        n_parallel=slots,
        kv_unified=False,
        swa_full=not served,
        flash_attention=options.flash_attention,
        n_gpu_layers=options.num_gpu,
        draft=options.draft,
        draft_tokens=options.draft_tokens,
        mmproj=towers if options.mmproj is None else options.mmproj,
    )
