"""vLLM's own defaults, by version and card."""

from __future__ import annotations

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.vllm.eras import Era, Sampler, era_of
from cardmatch.engine.memory.engines.vllm.options import MambaCacheMode, Vllm
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.terms.units import GIB

BLOCK_TOKENS = 16
_REQUESTS = 256
_CHUNKED_FROM_TOKENS = 32_768
_HUGE_BYTES = 160 * GIB
_LARGE_BYTES = 70 * GIB


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The options with every default filled in for one device and layout.

    `flight_tokens` may be scheduled but not yet settled; layers with a window keep them too.
    """

    era: Era
    utilization: float
    max_num_seqs: int
    max_num_batched_tokens: int
    block_size: int
    flight_tokens: int
    sampler: Sampler
    aligns_states: bool


def settle(options: Vllm, device: Device, layout: Layout, longest: int) -> Settled:
    """Fill in vLLM's defaults, for requests of up to *longest* tokens.

    Sources: vllm v0.33.0 engine/arg_utils.py get_batch_defaults, config/vllm.py max_concurrent_batches,
    model_executor/models/config.py MambaModelConfig.
    """
    era = era_of(options.version)
    tokens, requests = (
        _batch_defaults(device, era, offline=options.offline) if era.v1 else (_batch_without_v1(longest), _REQUESTS)
    )
    batched = options.max_num_batched_tokens or tokens
    prefix_caching = era.aligns_states if options.enable_prefix_caching is None else options.enable_prefix_caching
    mode = options.mamba_cache_mode or (MambaCacheMode.ALIGN if prefix_caching else MambaCacheMode.NONE)
    sampler = era.sampler
    if options.flashinfer_sampler is not None:
        sampler = Sampler.FUSED if options.flashinfer_sampler else era.sampler
    return Settled(
        era=era,
        utilization=options.gpu_memory_utilization or era.utilization,
        max_num_seqs=options.max_num_seqs or min(requests, batched),
        max_num_batched_tokens=batched,
        block_size=options.block_size or BLOCK_TOKENS,
        flight_tokens=_batches_in_flight(options, era, layout) * batched,
        sampler=sampler,
        aligns_states=mode is MambaCacheMode.ALIGN,
    )


def _batch_defaults(device: Device, era: Era, *, offline: bool) -> tuple[int, int]:
    """Batched tokens and requests; A100s and GB10 keep the small tier whatever their memory."""
    small = "a100" in (device.card or "") or device.compute_capability == "12.1"
    if era.huge_batches and device.memory_bytes >= _HUGE_BYTES:
        return 16_384, 1024
    if device.memory_bytes >= _LARGE_BYTES and not small:
        return (16_384 if offline else 8192), 1024
    return (8192 if offline else 2048), _REQUESTS


def _batch_without_v1(longest: int) -> int:
    """V0 prefilled a whole prompt at once, except where requests may be so long that it cut prompts by itself."""
    return max(longest, 2048) if longest <= _CHUNKED_FROM_TOKENS else 512


def _batches_in_flight(options: Vllm, era: Era, layout: Layout) -> int:
    if era.flight_batches == 1:
        return 1
    overlapping = options.async_scheduling is not False
    return layout.pipeline + 1 if overlapping else layout.pipeline
