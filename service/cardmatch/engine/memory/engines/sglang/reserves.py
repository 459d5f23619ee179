"""The figures that SGLang prints when it starts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Bytes, TokenCount


class SglangReserves(msgspec.Struct, tag="sglang", tag_field="engine", frozen=True, kw_only=True):
    """What SGLang's log says, per GPU. It prints “GB” and means GiB."""

    version: str
    model_bytes: Annotated[Bytes, Meta(description="“Load weight end … mem usage=… GB”.")]
    kv_cache_bytes: Annotated[Bytes, Meta(description="“KV Cache is allocated … K size, V size”, together.")]
    kv_cache_tokens: Annotated[TokenCount, Meta(description="“max_total_num_tokens=…”.")]
    sliding_tokens: Annotated[TokenCount, Meta(description="Tokens of the pool for layers with a window.")]
    state_bytes: Annotated[Bytes, Meta(description="“Mamba Cache is allocated …”.")]
    state_slots: Annotated[TokenCount, Meta(description="Recurrent states that the pool holds.")]
    static_share: Annotated[float, Meta(ge=0, le=1, description="“mem_fraction_static=…”.")]
    graphs_bytes: Annotated[Bytes, Meta(description="“Capture cuda graph end … mem usage=… GB”.")]
    chunked_prefill_size: TokenCount
    max_running_requests: TokenCount
    context_length_tokens: TokenCount
