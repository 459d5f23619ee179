"""What llama.cpp sets aside on each GPU and in RAM."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.bands import fitted_band, sure
from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.calibration import Fitted, LlamaCppCalibration, MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.buffers import Buffers, GpuBuffers, buffers, work_of
from cardmatch.engine.memory.engines.llama_cpp.cache import rows
from cardmatch.engine.memory.engines.llama_cpp.compute import compute_bytes
from cardmatch.engine.memory.engines.llama_cpp.eras import MlaEra
from cardmatch.engine.memory.engines.llama_cpp.graph import graph_of
from cardmatch.engine.memory.engines.llama_cpp.notices import notices
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.reserves import DeviceReserves, LlamaCppReserves
from cardmatch.engine.memory.engines.llama_cpp.settled import PADDING, Settled, settle
from cardmatch.engine.memory.engines.llama_cpp.spread import Spread, spread
from cardmatch.engine.memory.engines.offload import host_pool
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Pool, Reservation
from cardmatch.engine.models.architecture import Architecture, LatentAttention
from cardmatch.engine.models.cache import CacheKind
from cardmatch.engine.models.kv_formats import token_bytes
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.band import Band, add

_GROWING = {CacheKind.FULL, CacheKind.CHUNKED, CacheKind.MLA, CacheKind.INDEXER}


class Laid(NamedTuple):
    """What a job and its options put on how many GPUs, whichever they are."""

    settled: Settled
    held: Spread
    every: Buffers
    fullest: GpuBuffers
    cache: CacheLayout
    resident: tuple[int, int]
    reserves: LlamaCppReserves
    compute_slope: int


def reserve(job: ServingJob, options: LlamaCpp, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What llama.cpp with *options* reserves on the fullest GPU of *placement* for *job*.

    All buffers are allocated at start-up and nothing grows later; the budget is what is free on the GPU.
    """
    laid = lay(job, options, placement.layout.tensor * placement.layout.pipeline)
    settled, gpu, fitted = laid.settled, laid.fullest, calibration.llama_cpp
    weights = sure(gpu.model_bytes + gpu.projector_bytes)
    compute = fitted_band(spread_of(job, settled, fitted), gpu.compute_bytes)
    activations = add(compute, sure(gpu.draft_bytes)) if gpu.draft_bytes else compute
    overhead = fitted_band(fitted.context_bytes, 1)
    fixed = add(weights, activations, overhead)
    budget = placement.device.memory_bytes - placement.occupied_bytes
    return Reservation(
        weights=weights,
        activations=activations,
        overhead=overhead,
        cache=laid.cache,
        pools=(_gpu_pool(fixed, sum(laid.resident), budget), *host_pool(placement, laid.every.host_bytes)),
        longest_tokens=settled.n_ctx if options.n_ctx else job.context_tokens,
        most_requests=settled.slots if options.n_parallel else max(settled.slots, job.concurrency),
        budget_bytes=budget,
        reserves=laid.reserves,
        host_ram_bytes=laid.every.host_bytes,
        resident_cache_bytes=laid.resident[0],
        resident_state_bytes=laid.resident[1],
        offloaded=laid.held.offloaded,
        max_context_tokens=_max_context(laid, job, budget - fixed.expected_bytes - sum(laid.resident)),
        notices=notices(job, options, settled, laid.held, placement, fixed.expected_bytes + gpu.caches.total_bytes),
    )


@functools.lru_cache(maxsize=128)
def lay(job: ServingJob, options: LlamaCpp, gpus: int) -> Laid:
    """Lay *job* out over *gpus*. Remembered, because every card of a request asks for the same."""
    settled = settle(options, job)
    pieces = parts(job.architecture, job.checkpoint)
    held = spread(job, pieces, options, gpus, output_first=settled.era.output_first)
    every = buffers(job, options, settled, held)
    fullest = max(range(gpus), key=lambda gpu: every.gpus[gpu].total_bytes)
    gpu = every.gpus[fullest]
    cache = _growing(job, held.gpu_layers[fullest], settled)
    longer = msgspec.structs.replace(settled, n_ctx=2 * settled.n_ctx, n_ctx_seq=2 * settled.n_ctx_seq)
    graph = graph_of(job.architecture, settled.mla)
    more = compute_bytes(graph, longer, work_of(job, options, longer, held, fullest))
    return Laid(
        settled=settled,
        held=held,
        every=every,
        fullest=gpu,
        cache=cache,
        resident=_resident(gpu, cache, job, options, settled),
        reserves=_reserves(every, options, settled, len(job.architecture.layer_order)),
        compute_slope=max(0, more - gpu.compute_bytes) // settled.n_ctx,
    )


def _max_context(laid: Laid, job: ServingJob, free_bytes: int) -> int:
    """The longest request that fits, the compute buffer growing with it."""
    growing = (*laid.cache.terms, CacheTerm(bytes_per_token=laid.compute_slope))
    reserved = laid.compute_slope * laid.settled.n_ctx
    return CacheLayout(terms=growing).max_tokens(free_bytes + reserved, job.longest_possible_tokens)


def spread_of(job: ServingJob, settled: Settled, fitted: LlamaCppCalibration) -> Fitted:
    """How far compute buffers lie around the rules. The fork's latent attention follows settings that set its own."""
    if not settled.fork:
        return fitted.compute
    return fitted.fork_latent_compute if expands_latents(job.architecture, settled) else fitted.fork_compute


def expands_latents(architecture: Architecture, settled: Settled) -> bool:
    """Whether attention is over latents, which the fork expands piece by piece as -mla and -amb say."""
    blocks = (block for group in architecture.layer_groups for block in group.blocks)
    return settled.mla is not MlaEra.EXPANDED and any(isinstance(block, LatentAttention) for block in blocks)


def _growing(job: ServingJob, layers: tuple[int, ...], settled: Settled) -> CacheLayout:
    """The caches that take a cell per token, in whole blocks of cells."""
    terms = tuple(
        CacheTerm(
            bytes_per_token=math.ceil(token_bytes(row, job.kv_cache) * row.layers / row.tokens_per_entry),
            block_tokens=PADDING,
        )
        for row in rows(job.architecture, layers, settled.mla)
        if row.kind in _GROWING and row.fixed_tokens is None
    )
    return CacheLayout(terms=terms)


def _resident(
    gpu: GpuBuffers, cache: CacheLayout, job: ServingJob, options: LlamaCpp, settled: Settled
) -> tuple[int, int]:
    """Cache and state that are there whatever requests come: windows and states of every slot, cells beyond the asked.

    Slots with caches of their own each hold the longest request, so shorter means save nothing.
    """
    allocated = gpu.caches.full_bytes + gpu.caches.indexer_bytes
    windows = gpu.caches.sliding_bytes
    if options.n_ctx is None and settled.streams > 1:
        asked = max(cache.request_bytes(job.context_tokens), cache.total_bytes(job.concurrency, job.mean_tokens))
        windows += max(0, allocated - asked)
    return windows, gpu.caches.state_bytes


def _gpu_pool(fixed: Band, resident_bytes: int, budget_bytes: int) -> Pool:
    return Pool(
        name="gpu_memory",
        budget_bytes=budget_bytes,
        fixed_expected_bytes=fixed.expected_bytes + resident_bytes,
        fixed_high_bytes=fixed.high_bytes + resident_bytes,
    )


def _reserves(every: Buffers, options: LlamaCpp, settled: Settled, layers: int) -> LlamaCppReserves:
    asked = layers + 1 if options.n_gpu_layers is None else min(options.n_gpu_layers, layers + 1)
    return LlamaCppReserves(
        version=options.version if not settled.fork else options.variant.value,
        devices=tuple(_device(gpu) for gpu in every.gpus),
        host_model_bytes=every.host_model_bytes,
        host_kv_cache_bytes=every.host_caches.total_bytes - every.host_caches.state_bytes,
        host_recurrent_state_bytes=every.host_caches.state_bytes,
        host_compute_bytes=every.host_compute_bytes,
        output_bytes=every.output_bytes,
        gpu_layers=asked,
        total_layers=layers + 1,
        n_ctx_tokens=settled.n_ctx,
        n_ctx_per_slot_tokens=settled.n_ctx_seq,
        slots=settled.slots,
        kv_unified=settled.streams == 1,
        flash_attention=settled.flash_attention,
        n_batch_tokens=settled.n_batch,
        n_ubatch_tokens=settled.n_ubatch,
    )


def _device(gpu: GpuBuffers) -> DeviceReserves:
    return DeviceReserves(
        model_bytes=gpu.model_bytes,
        kv_cache_bytes=gpu.caches.full_bytes,
        kv_cache_sliding_bytes=gpu.caches.sliding_bytes,
        indexer_bytes=gpu.caches.indexer_bytes,
        recurrent_state_bytes=gpu.caches.state_bytes,
        compute_bytes=gpu.compute_bytes,
        projector_bytes=gpu.projector_bytes,
        draft_bytes=gpu.draft_bytes,
    )
