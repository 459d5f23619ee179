"""LM Studio's options, and the llama.cpp that its CUDA runtime is.

Sources: lmstudio.ai documentation of load parameters (context length, evaluation batch size, GPU offload, MoE experts
on the CPU); logs of its runtimes: windows are full size before 2.11.0.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.command_line import CommandLine
from cardmatch.engine.memory.engines.llama_cpp.options import Batch, FlashAttention, LayerCount, LlamaCpp, Slots
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.terms.units import Tokens

CURRENT_VERSION = "2.11.0"
Version = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,2}\.[0-9]{1,3}(\.[0-9]{1,3})?$(?!\n)",
        examples=[CURRENT_VERSION],
        description="Version of the llama.cpp runtime, as LM Studio lists it.",
    ),
]
_WINDOWED_SINCE = (2, 11)
_CURRENT_BUILD = "b10488"
_OLDER_BUILD = "b7400"


class LmStudio(
    msgspec.Struct, tag="lm_studio", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """LM Studio, at its own defaults where nothing is said."""

    version: Version = CURRENT_VERSION
    args: CommandLine | None = None
    context_length: Tokens | None = None
    eval_batch_size: Batch = 512
    max_parallel: Slots | None = None
    gpu_layers: LayerCount | None = None
    experts_on_host: bool = False
    kv_offload: bool = True
    flash_attention: FlashAttention = FlashAttention.AUTO
    mmproj: Annotated[bool | None, Meta(description="Load the image projector; null: where the model has one.")] = None


def as_llama_cpp(options: LmStudio, job: ServingJob) -> LlamaCpp:
    """The llama.cpp that LM Studio's options amount to; it is a library there, which reserves all logits."""
    major, minor = (int(part) for part in options.version.split(".")[:2])
    windowed = (major, minor) >= _WINDOWED_SINCE
    towers = bool(job.architecture.towers)
    return LlamaCpp(
        version=_CURRENT_BUILD if windowed else _OLDER_BUILD,
        n_ctx=options.context_length,
        n_batch=options.eval_batch_size,
        n_ubatch=options.eval_batch_size,
        n_parallel=options.max_parallel or max(1, min(job.concurrency, 256)),
        kv_unified=True,
        swa_full=not windowed,
        flash_attention=options.flash_attention,
        kv_offload=options.kv_offload,
        n_gpu_layers=options.gpu_layers,
        experts_on_host=options.experts_on_host,
        limited_outputs=False,
        fit=False,
        mmproj=towers if options.mmproj is None else options.mmproj,
    )
