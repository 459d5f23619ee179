"""What TensorRT-LLM sets aside."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.bands import fitted_band, sure
from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.calibration import MemoryCalibration, TensorrtLlmCalibration
from cardmatch.engine.memory.engines.tensorrt_llm.options import Backend, TensorrtLlm
from cardmatch.engine.memory.engines.tensorrt_llm.reserves import TensorrtLlmReserves
from cardmatch.engine.memory.extras import drafter_bytes, drafting_rows, slots_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.rank_cache import rank_token_bytes, state_page_bytes
from cardmatch.engine.memory.reservation import Pool, Reservation
from cardmatch.engine.memory.weights import pipeline_stages
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.models.cache import CacheKind, CacheRow, by_layer
from cardmatch.engine.terms.band import Band, add

_BLOCK_TOKENS = {Backend.PYTORCH: 32, Backend.TENSORRT: 64}
"""KvCacheConfig.tokens_per_block of the PyTorch backend; trtllm-build's --tokens_per_block was 64 until 0.16."""

_ACTIVATION_BYTES = 2
_LOGIT_BYTES = 4


class _Stage(NamedTuple):
    """A pipeline stage: bytes of weights and the cache of one request on each of its GPUs."""

    weights: int
    cache: CacheLayout


def reserve(job: ServingJob, options: TensorrtLlm, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What TensorRT-LLM with *options* reserves on the fullest GPU of *placement* for *job*.

    The cache takes `kv_cache_free_gpu_memory_fraction` of what weights, activations and contexts leave free.
    Source: tensorrt_llm _torch/pyexecutor/_util.py, KvCacheCreator; issue 2268 for the block of the older backend.
    """
    fitted = calibration.tensorrt_llm
    block = options.tokens_per_block or _BLOCK_TOKENS[options.backend]
    activations = _activations(job, options, placement, fitted)
    overhead = _overhead(options, placement, fitted)
    budget = placement.device.memory_bytes - placement.occupied_bytes
    stage = _binding(job, options, placement, block, budget - activations.expected_bytes - overhead.expected_bytes)
    weights = sure(stage.weights)
    fixed = add(weights, activations, overhead)
    pool = _cache_bytes(options, stage.cache, max(0, budget - fixed.expected_bytes))
    longest = options.max_seq_len or job.context_tokens
    return Reservation(
        weights=weights,
        activations=activations,
        overhead=overhead,
        cache=stage.cache,
        pools=(_pool(budget, fixed, options.kv_cache_free_gpu_memory_fraction, pool),),
        longest_tokens=longest,
        most_requests=options.max_batch_size,
        budget_bytes=min(budget, fixed.expected_bytes + pool),
        reserves=_reserves(options, stage, activations.expected_bytes, pool, block, longest),
        copies=placement.layout.tensor if options.enable_attention_dp else 1,
    )


def _cache_bytes(options: TensorrtLlm, cache: CacheLayout, free: int) -> int:
    """The share of *free* bytes that the cache takes, or what `max_tokens` need where that is less."""
    share = int(free * options.kv_cache_free_gpu_memory_fraction)
    return share if options.max_tokens is None else min(share, cache.request_bytes(options.max_tokens))


def _pool(budget: int, fixed: Band, share: float, pool: int) -> Pool:
    """What lies on the card and the cache beside it; a byte more of the former costs only *share* bytes of cache."""
    more = fixed.high_bytes - fixed.expected_bytes
    return Pool(
        name="kv_cache_free_gpu_memory_fraction",
        budget_bytes=min(budget, fixed.expected_bytes + pool),
        fixed_expected_bytes=fixed.expected_bytes,
        fixed_high_bytes=fixed.expected_bytes + int(more * share),
    )


def _binding(job: ServingJob, options: TensorrtLlm, placement: Placement, block: int, left: int) -> _Stage:
    found = pipeline_stages(job.sums, job.architecture.layer_order, placement.layout)
    only = len(found) == 1
    rotary = job.architecture.rotary_cache_elements * _ACTIVATION_BYTES
    tensor = 1 if options.enable_attention_dp else placement.layout.tensor
    slots = slots_bytes(job, placement.layout.tensor, None, None) // len(found)
    stages = []
    for stage in found:
        rows = job.cache_rows if only else by_layer(job.architecture, range(stage.start, stage.start + stage.layers))
        weights = stage.weights_bytes + rotary + slots
        if job.speculative is not None and stage is found[-1]:
            weights += drafter_bytes(job, placement.layout).expected_bytes
            rows += drafting_rows(job)
        terms = tuple(_term(row, job, options, tensor, block) for row in rows)
        stages.append(_Stage(weights, CacheLayout(terms=terms)))
    return min(stages, key=lambda stage: (left - stage.weights) / max(stage.cache.request_bytes(job.context_tokens), 1))


def _term(row: CacheRow, job: ServingJob, options: TensorrtLlm, tensor: int, block: int) -> CacheTerm:
    if row.kind in {CacheKind.LINEAR, CacheKind.MAMBA}:
        state = row.layers * state_page_bytes(row, job.architecture.state, tensor)
        return CacheTerm(fixed_bytes=state, state_bytes=state)
    each = row.layers * rank_token_bytes(row, job.kv_cache, tensor)
    if row.fixed_tokens is not None:
        return CacheTerm(fixed_bytes=each * -(-row.fixed_tokens // block) * block)
    return CacheTerm(
        bytes_per_token=-(-each // row.tokens_per_entry),
        block_tokens=block,
        cap_tokens=row.window_tokens,
        flight_tokens=options.max_num_tokens if row.window_tokens is not None else 0,
        spare_blocks=0 if row.window_tokens is None else 1,
    )


def _activations(
    job: ServingJob, options: TensorrtLlm, placement: Placement, calibration: TensorrtLlmCalibration
) -> Band:
    """Buffers of `max_num_tokens`, and the logits of `max_batch_size` requests."""
    tokens = options.max_num_tokens * _ACTIVATION_BYTES * widest(job.widths, placement.layout.tensor)
    requests = min(options.max_batch_size, options.max_num_tokens)
    logits = requests * job.architecture.vocabulary_size * _LOGIT_BYTES
    return fitted_band(calibration.forward_widths, tokens + logits)


def _overhead(options: TensorrtLlm, placement: Placement, calibration: TensorrtLlmCalibration) -> Band:
    context = fitted_band(calibration.context_bytes, 1)
    if placement.layout.gpus > 1:
        context = add(context, fitted_band(calibration.rank_bytes, 1))
    if not options.use_cuda_graph or options.backend is not Backend.PYTORCH:
        return context
    return add(context, fitted_band(calibration.graph_bytes, 1))


def _reserves(
    options: TensorrtLlm, stage: _Stage, activations: int, pool: int, block: int, longest: int
) -> TensorrtLlmReserves:
    each = sum(term.bytes_per_token for term in stage.cache.terms)
    blocks = pool // (each * block) if each else 0
    return TensorrtLlmReserves(
        version=options.version,
        model_bytes=stage.weights,
        activations_bytes=activations,
        kv_cache_bytes=pool,
        kv_cache_tokens=blocks * block,
        tokens_per_block=block,
        blocks=blocks,
        max_seq_len_tokens=longest,
        max_batch_size=options.max_batch_size,
        max_num_tokens=options.max_num_tokens,
    )
