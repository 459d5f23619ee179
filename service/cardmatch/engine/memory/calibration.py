"""Constants that are measured, not derived: fitted from truth cases by `tools/calibrate`, kept in the catalogue."""

from __future__ import annotations

import msgspec


class Fitted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fitted constant with the spread of its residuals: measured over predicted, tenth and ninetieth percentile.

    `sources` are the ids of the rows that it was fitted to, `residuals` what each measured over what the constant says.
    """

    value: float
    low_ratio: float
    high_ratio: float
    rows: int
    sources: tuple[str, ...] = ()
    residuals: tuple[float, ...] = ()


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What runs of one setup differ by, in either direction: loaders, caches of compiled code, fragmentation."""

    low_bytes: int
    high_bytes: int
    rows: int
    sources: tuple[str, ...] = ()


class VllmCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """vLLM's reserves.

    `sorted_copies`, `fused_copies`: fp32 copies of the logits of `max_num_seqs` requests that profiling holds at its
    peak, with the sampler that sorts and with the one that does not. `forward_widths`: multiples of the widest layer,
    in 16 bits, that each batched token holds. `tower_bytes`: the peak of profiling an
    image encoder. `context_bytes`: CUDA context and workspaces outside the allocator.
    `rank_bytes`: communication buffers of each GPU once there are several. `graph_bytes`: captured CUDA
    graphs, whose size follows neither layers nor captured batches closely.
    """

    sorted_copies: Fitted
    fused_copies: Fitted
    forward_widths: Fitted
    tower_bytes: Fitted
    context_bytes: Fitted
    rank_bytes: Fitted
    graph_bytes: Fitted
    noise: Noise


class LlamaCppCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """llama.cpp's reserves: logged compute buffers over what the graph's rules give, mainline and fork apart.

    `fork_latent_compute`: the fork's over latent attention, whose size its -mla and -amb settings decide.
    `context_bytes`: CUDA context, cuBLAS and kernels, which no buffer of the log counts.
    """

    compute: Fitted
    fork_compute: Fitted
    fork_latent_compute: Fitted
    context_bytes: Fitted


class SglangCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SGLang's reserves outside its static share; the fields mean what they mean for vLLM.

    `forward_widths` multiplies the tokens of a prefill chunk and the logits of the largest captured batch.
    """

    forward_widths: Fitted
    context_bytes: Fitted
    rank_bytes: Fitted
    graph_bytes: Fitted


class TensorrtLlmCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """TensorRT-LLM's reserves; `forward_widths` multiplies `max_num_tokens` and the logits of `max_batch_size`."""

    forward_widths: Fitted
    context_bytes: Fitted
    rank_bytes: Fitted
    graph_bytes: Fitted


class TransformersCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Transformers: `base_bytes` is what a process keeps beside weights and cache (cuBLAS workspace, buffers)."""

    forward_widths: Fitted
    base_bytes: Fitted
    context_bytes: Fitted


class MemoryCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every fitted constant of the memory room."""

    as_of: str
    vllm: VllmCalibration
    llama_cpp: LlamaCppCalibration
    sglang: SglangCalibration
    tensorrt_llm: TensorrtLlmCalibration
    transformers: TransformersCalibration
