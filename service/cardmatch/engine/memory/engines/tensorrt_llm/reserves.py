"""The figures that TensorRT-LLM prints when it starts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Bytes, TokenCount


class TensorrtLlmReserves(msgspec.Struct, tag="tensorrt_llm", tag_field="engine", frozen=True, kw_only=True):
    """What TensorRT-LLM's log says, per GPU."""

    version: str
    model_bytes: Annotated[Bytes, Meta(description="Memory used after loading the weights.")]
    activations_bytes: Annotated[Bytes, Meta(description="“Peak memory during memory usage profiling”, less weights.")]
    kv_cache_bytes: Annotated[Bytes, Meta(description="“Allocated … GiB for max tokens in paged KV cache”.")]
    kv_cache_tokens: Annotated[TokenCount, Meta(description="“… max tokens in paged KV cache (…)”.")]
    tokens_per_block: TokenCount
    blocks: TokenCount
    max_seq_len_tokens: TokenCount
    max_batch_size: TokenCount
    max_num_tokens: TokenCount
