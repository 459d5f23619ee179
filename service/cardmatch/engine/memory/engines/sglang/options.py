"""The options of SGLang that decide what it reserves, named like its command line flags."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.command_line import CommandLine
from cardmatch.engine.memory.engines.versions import Version
from cardmatch.engine.terms.units import Count, Tokens

CURRENT_VERSION = "0.5.23"
Ratio = Annotated[float, Meta(gt=0, le=1)]


class SglangStateDtype(StrEnum):
    """Number format of recurrent states."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class Sglang(msgspec.Struct, tag="sglang", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SGLang, at its own defaults where nothing is said. Fields are its flags with underscores.

    With `enable_dp_attention` the tensor ranks of the layout form `dp_size` groups that each keep a cache of their own.
    """

    version: Version = CURRENT_VERSION
    args: CommandLine | None = None
    mem_fraction_static: Ratio | None = None
    context_length: Tokens | None = None
    max_running_requests: Count | None = None
    max_total_tokens: Tokens | None = None
    chunked_prefill_size: Annotated[int, Meta(ge=1, le=1 << 24)] | None = None
    cuda_graph_max_bs: Annotated[int, Meta(ge=1, le=65_536)] | None = None
    disable_cuda_graph: bool = False
    disable_radix_cache: bool = False
    page_size: Annotated[int, Meta(ge=1, le=4096)] | None = None
    swa_full_tokens_ratio: Ratio = 0.8
    mamba_full_memory_ratio: Annotated[float, Meta(gt=0, le=100)] = 0.9
    max_mamba_cache_size: Count | None = None
    mamba_ssm_dtype: SglangStateDtype | None = None
    enable_dp_attention: bool = False
    dp_size: Annotated[int, Meta(ge=1, le=1024)] = 1
    language_model_only: bool = False
    cpu_offload_gb: Annotated[float, Meta(ge=0, le=65_536)] = 0.0
    max_loras_per_batch: Annotated[int, Meta(ge=1, le=1024)] | None = None
    max_lora_rank: Annotated[int, Meta(ge=1, le=1024)] | None = None
