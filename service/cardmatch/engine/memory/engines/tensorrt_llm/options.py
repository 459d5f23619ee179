"""The options of TensorRT-LLM that decide what it reserves, named like trtllm-serve's flags and its KvCacheConfig."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.memory.engines.command_line import CommandLine
from cardmatch.engine.memory.engines.versions import Version
from cardmatch.engine.terms.units import Count, Tokens

CURRENT_VERSION = "1.2.0"


class Backend(StrEnum):
    """`pytorch` since 1.0; `tensorrt` runs an engine that was built for its batch and length."""

    PYTORCH = "pytorch"
    TENSORRT = "tensorrt"


class TensorrtLlm(
    msgspec.Struct, tag="tensorrt_llm", tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """TensorRT-LLM, at its own defaults where nothing is said."""

    version: Version = CURRENT_VERSION
    args: CommandLine | None = None
    backend: Backend = Backend.PYTORCH
    kv_cache_free_gpu_memory_fraction: Annotated[float, Meta(gt=0, le=1)] = 0.9
    max_batch_size: Count = 2048
    max_num_tokens: Annotated[int, Meta(ge=1, le=1 << 24)] = 8192
    max_seq_len: Tokens | None = None
    max_tokens: Annotated[Tokens | None, Meta(description="Tokens of the cache at most.")] = None
    tokens_per_block: Annotated[int, Meta(ge=1, le=4096)] | None = None
    enable_attention_dp: bool = False
    use_cuda_graph: bool = True
