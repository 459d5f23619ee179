"""The options of vLLM that decide what it reserves, named like its command line flags."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.choice import DeviceBytes
from cardmatch.engine.memory.engines.command_line import CommandLine
from cardmatch.engine.memory.engines.versions import Version
from cardmatch.engine.terms.units import Count, Tokens

CURRENT_VERSION = "0.33.0"


class MambaCacheMode(StrEnum):
    """How vLLM keeps recurrent states: `align` also keeps one at the last block boundary, for prefix caching."""

    NONE = "none"
    ALIGN = "align"


class VllmStateDtype(StrEnum):
    """Number format of recurrent states; `auto` is what the model asks for."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Vllm(msgspec.Struct, tag="vllm", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """vLLM, at its own defaults where nothing is said. Fields are its flags with underscores.

    `offline` takes the batch defaults of `LLM(…)` instead of those of `vllm serve`. `estimate_cudagraphs` and
    `flashinfer_sampler` are the environment variables VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS and
    VLLM_USE_FLASHINFER_SAMPLER.
    """

    version: Version = CURRENT_VERSION
    args: CommandLine | None = None
    gpu_memory_utilization: Annotated[float, Meta(gt=0, le=1)] | None = None
    kv_cache_memory_bytes: DeviceBytes | None = None
    num_gpu_blocks_override: Count | None = None
    max_model_len: Tokens | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Annotated[int, Meta(ge=1, le=1 << 24)] | None = None
    block_size: Annotated[int, Meta(ge=1, le=65_536)] | None = None
    enforce_eager: bool = False
    max_cudagraph_capture_size: Annotated[int, Meta(ge=0, le=65_536)] | None = None
    enable_prefix_caching: bool | None = None
    async_scheduling: bool | None = None
    disable_hybrid_kv_cache_manager: bool = False
    mamba_cache_mode: MambaCacheMode | None = None
    mamba_ssm_cache_dtype: VllmStateDtype = VllmStateDtype.AUTO
    language_model_only: bool = False
    cpu_offload_gb: Annotated[float, Meta(ge=0, le=65_536, description="GiB of weights in host memory.")] = 0.0
    swap_space: Annotated[float, Meta(ge=0, le=65_536, description="GiB of host memory per GPU (V0).")] | None = None
    max_loras: Annotated[int, Meta(ge=1, le=1024)] | None = None
    max_lora_rank: Annotated[int, Meta(ge=1, le=1024)] | None = None
    fully_sharded_loras: bool = False
    estimate_cudagraphs: bool | None = None
    flashinfer_sampler: bool | None = None
    offline: bool = False
