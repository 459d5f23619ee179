"""The figures that llama.cpp prints when it starts."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Bytes, TokenCount


class DeviceReserves(msgspec.Struct, frozen=True, kw_only=True):
    """The buffers on one GPU, first GPU first."""

    model_bytes: Annotated[Bytes, Meta(description="“CUDA0 model buffer size”.")]
    kv_cache_bytes: Annotated[Bytes, Meta(description="“CUDA0 KV buffer size”, layers that keep the whole context.")]
    kv_cache_sliding_bytes: Annotated[Bytes, Meta(description="The same for layers with a sliding window.")]
    indexer_bytes: Annotated[Bytes, Meta(description="Keys of sparse attention's indexer.")]
    recurrent_state_bytes: Annotated[Bytes, Meta(description="“CUDA0 RS buffer size”.")]
    compute_bytes: Annotated[Bytes, Meta(description="“CUDA0 compute buffer size”.")]
    projector_bytes: Annotated[Bytes, Meta(description="Weights and compute buffer of the image projector.")] = 0
    draft_bytes: Annotated[Bytes, Meta(description="Cache and compute buffer of the drafting context.")] = 0


class LlamaCppReserves(msgspec.Struct, tag="llama_cpp", tag_field="engine", frozen=True, kw_only=True):
    """What the log of llama.cpp, Ollama or LM Studio says."""

    version: Annotated[str, Meta(description="The build whose behaviour this is.")]
    devices: tuple[DeviceReserves, ...]
    host_model_bytes: Annotated[Bytes, Meta(description="“CPU_Mapped model buffer size”, copies on GPUs not counted.")]
    host_kv_cache_bytes: Bytes
    host_recurrent_state_bytes: Bytes
    host_compute_bytes: Annotated[Bytes, Meta(description="“CUDA_Host compute buffer size”.")]
    output_bytes: Annotated[Bytes, Meta(description="“CUDA_Host output buffer size”.")]
    gpu_layers: Annotated[int, Meta(ge=0, le=4097, description="“offloaded N/M layers to GPU”, the output included.")]
    total_layers: Annotated[int, Meta(ge=1, le=4097)]
    n_ctx_tokens: TokenCount
    n_ctx_per_slot_tokens: TokenCount
    slots: Annotated[int, Meta(ge=1, le=256)]
    kv_unified: bool
    flash_attention: bool
    n_batch_tokens: TokenCount
    n_ubatch_tokens: TokenCount
