"""What a Transformers process takes: weights, the cache of its batch, one prefill, and the CUDA context."""

from __future__ import annotations

from cardmatch.engine.memory.bands import fitted_band, sure
from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.calibration import MemoryCalibration, TransformersCalibration
from cardmatch.engine.memory.engines.transformers.options import (
    AttentionImplementation,
    CacheImplementation,
    Transformers,
)
from cardmatch.engine.memory.engines.transformers.reserves import TransformersReserves
from cardmatch.engine.memory.extras import slots_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.rank_cache import rank_token_bytes, state_page_bytes
from cardmatch.engine.memory.reservation import Pool, Reservation, Working
from cardmatch.engine.memory.weights import pipeline_stages, rank_bytes
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.models.architecture import Architecture, Attention
from cardmatch.engine.models.cache import CacheKind, CacheRow, by_layer
from cardmatch.engine.terms.band import Band, add

_ACTIVATION_BYTES = 2
FP8_BLOCK = "fp8_block"
_SCORE_BYTES = 6
"""Eager attention writes scores in 16 bits and their softmax in fp32."""


def reserve(
    job: ServingJob, options: Transformers, placement: Placement, calibration: MemoryCalibration
) -> Reservation:
    """What `generate` takes on the fullest GPU of *placement* for a batch of all concurrent requests.

    The cache is contiguous and grows with each token: nothing is reserved and nothing is shared. Source: transformers
    v5.24.0 cache_utils.py, DynamicCache; layers are dealt to the GPUs in order (device_map).
    """
    fitted = calibration.transformers
    longest = job.context_tokens
    stages = _stages(job, placement)
    beside = untied_head_bytes(job, placement) + slots_bytes(job, 1, None, None)
    share = -(-job.concurrency // placement.layout.data)
    binding, cache = max(stages, key=lambda each: each[0] + job.concurrency * each[1].request_bytes(job.mean_tokens))
    weights = sure(binding + beside)
    working = _working(job, options, placement, fitted)
    activations = working.band(share, job.mean_tokens)
    base = fitted_band(fitted.base_bytes, 1)
    context = fitted_band(fitted.context_bytes, 1)
    budget = placement.device.memory_bytes - placement.occupied_bytes
    static = options.cache_implementation is CacheImplementation.STATIC
    held_cache = cache.total_bytes(share, longest if static else job.mean_tokens)
    outside = add(base, context)
    pools = tuple([_pool(budget, add(sure(held + beside), activations, outside), each) for held, each in stages])
    free = [(pool.budget_bytes - pool.fixed_expected_bytes + activations.expected_bytes, pool.cache) for pool in pools]
    return Reservation(
        weights=weights,
        activations=activations,
        overhead=outside,
        cache=cache,
        pools=pools,
        longest_tokens=longest,
        most_requests=1 << 30,
        budget_bytes=budget,
        allocates_longest=static,
        working=working,
        max_context_tokens=min(_longest(room, each or cache, working, job) for room, each in free),
        reserves=_reserves(options, weights, held_cache, base, add(activations, context)),
    )


def _pool(budget: int, fixed: Band, cache: CacheLayout) -> Pool:
    return Pool(
        name="device_memory",
        budget_bytes=budget,
        fixed_expected_bytes=fixed.expected_bytes,
        fixed_high_bytes=fixed.high_bytes,
        cache=cache,
    )


def _longest(room: int, cache: CacheLayout, working: Working, job: ServingJob) -> int:
    """The longest request whose cache and activations fit in *room* bytes; 0 where none does."""
    low, high = 0, job.longest_possible_tokens
    while low < high:
        middle = (low + high + 1) // 2
        if cache.request_bytes(middle) + working.band(1, middle).expected_bytes <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _reserves(options: Transformers, weights: Band, held_cache: int, base: Band, beside: Band) -> TransformersReserves:
    held = weights.expected_bytes + base.expected_bytes + held_cache
    return TransformersReserves(
        version=options.version,
        model_bytes=weights.expected_bytes,
        kv_cache_bytes=held_cache,
        held_bytes=held,
        process_bytes=held + beside.expected_bytes,
    )


def _stages(job: ServingJob, placement: Placement) -> list[tuple[int, CacheLayout]]:
    """Weights and cache of every stage."""
    found = pipeline_stages(job.sums, job.architecture.layer_order, placement.layout)
    only = len(found) == 1
    stages = []
    for stage in found:
        rows = job.cache_rows if only else by_layer(job.architecture, range(stage.start, stage.start + stage.layers))
        cache = CacheLayout(terms=tuple(_term(row, job, placement.layout.tensor) for row in rows))
        stages.append((stage.weights_bytes, cache))
    return stages


def untied_head_bytes(job: ServingJob, placement: Placement) -> int:
    """The fine-grained FP8 loader keeps a tied head as a copy of its own (Qwen3 speed benchmark: 0.6B to 4B)."""
    return rank_bytes(job.sums.tied, placement.layout) if job.checkpoint.format == FP8_BLOCK else 0


def _term(row: CacheRow, job: ServingJob, tensor: int) -> CacheTerm:
    """Chunked and sliding layers keep their window; everything is stored token by token."""
    if row.kind in {CacheKind.LINEAR, CacheKind.MAMBA}:
        state = row.layers * state_page_bytes(row, job.architecture.state, tensor)
        return CacheTerm(fixed_bytes=state, state_bytes=state)
    each = row.layers * rank_token_bytes(row, job.kv_cache, tensor)
    if row.fixed_tokens is not None:
        return CacheTerm(fixed_bytes=each * row.fixed_tokens)
    return CacheTerm(bytes_per_token=-(-each // row.tokens_per_entry), cap_tokens=row.window_tokens)


def _working(
    job: ServingJob, options: Transformers, placement: Placement, calibration: TransformersCalibration
) -> Working:
    """The widest layer over the prompts of the batch, and with eager attention its scores."""
    eager = options.attn_implementation is AttentionImplementation.EAGER
    return Working(
        fitted=calibration.forward_widths,
        linear=widest(job.widths, placement.layout.tensor) * _ACTIVATION_BYTES,
        square=query_heads(job.architecture) * _SCORE_BYTES if eager else 0,
        prompt_tokens=options.prompt_tokens,
    )


def query_heads(architecture: Architecture) -> int:
    """The most query heads of a layer; 1 without attention."""
    return max(
        (
            block.query_heads
            for group in architecture.layer_groups
            for block in group.blocks
            if isinstance(block, Attention)
        ),
        default=1,
    )
