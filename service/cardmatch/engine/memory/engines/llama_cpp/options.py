"""The options of llama.cpp that decide what it reserves.

Sources: llama.cpp common/arg.cpp and tools/server/README.md (b11501) for names and defaults; ik_llama.cpp
common/common.cpp for the fork.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.command_line import CommandLine
from cardmatch.engine.memory.engines.llama_cpp.eras import CURRENT_BUILD, MlaEra
from cardmatch.engine.memory.engines.llama_cpp.overrides import TensorOverride
from cardmatch.engine.terms.units import GivenBytes, Tokens

Build = Annotated[
    str,
    Meta(pattern=r"^b[0-9]{3,6}$(?!\n)", examples=[f"b{CURRENT_BUILD}"], description="Build as the log prints it."),
]
Batch = Annotated[int, Meta(ge=1, le=1_048_576)]
Slots = Annotated[int, Meta(ge=1, le=256)]
LayerCount = Annotated[int, Meta(ge=0, le=4097)]


class Variant(StrEnum):
    """Mainline, or the fork whose cache and compute buffers differ."""

    MAINLINE = "mainline"
    IK = "ik_llama_cpp"


class FlashAttention(StrEnum):
    """Whether the attention matrix is materialised."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class SplitMode(StrEnum):
    """How several GPUs share a model: whole layers, rows of each matrix, or not at all."""

    LAYER = "layer"
    ROW = "row"
    NONE = "none"


class Draft(StrEnum):
    """What drafts tokens for the model to verify: its own multi-token-prediction layers, so far."""

    MTP = "mtp"


class LlamaCpp(
    msgspec.Struct, tag="llama_cpp", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """llama-server, at its own defaults where nothing is said.

    `n_ctx` is the whole cache, over all slots (`-c`); absent, what the workload asks for. `n_gpu_layers` counts the
    last layers and the output as one (`-ngl`); absent, all. `n_cpu_moe` keeps the experts of the first layers in RAM,
    `experts_on_host` those of all. `limited_outputs` says that logits are reserved for the slots alone, as
    llama-server does since June 2026 and other programs do not.
    """

    version: Build = f"b{CURRENT_BUILD}"
    args: CommandLine | None = None
    variant: Variant = Variant.MAINLINE
    n_ctx: Tokens | None = None
    n_batch: Batch = 2048
    n_ubatch: Batch = 512
    n_parallel: Slots | None = None
    kv_unified: bool | None = None
    swa_full: bool | None = None
    flash_attention: FlashAttention = FlashAttention.AUTO
    kv_offload: bool = True
    op_offload: bool = True
    n_gpu_layers: LayerCount | None = None
    n_cpu_moe: LayerCount = 0
    experts_on_host: bool = False
    override_tensors: Annotated[tuple[TensorOverride, ...], Meta(max_length=64)] = ()
    split_mode: SplitMode = SplitMode.LAYER
    tensor_split: Annotated[tuple[Annotated[float, Meta(ge=0, le=10**9)], ...], Meta(max_length=64)] = ()
    mla: MlaEra | None = None
    limited_outputs: bool | None = None
    fit: bool | None = None
    fit_target_bytes: GivenBytes = 1 << 30
    draft: Draft | None = None
    draft_tokens: Annotated[int, Meta(ge=0, le=64)] = 3
    mmproj: bool = False
    mmap: bool = True
