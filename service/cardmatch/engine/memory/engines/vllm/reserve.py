"""What vLLM sets aside: budget, weights, profiled activations, contexts and graphs; the rest is cache."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.bands import fitted_band, sure
from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.calibration import MemoryCalibration, VllmCalibration
from cardmatch.engine.memory.engines.offload import host_pool
from cardmatch.engine.memory.engines.vllm.activations import activations
from cardmatch.engine.memory.engines.vllm.cache import Caching, caching, stage_cache, whole_plan
from cardmatch.engine.memory.engines.vllm.groups import Plan
from cardmatch.engine.memory.engines.vllm.notices import notices
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.repack import expert_growth
from cardmatch.engine.memory.engines.vllm.reserves import reserves
from cardmatch.engine.memory.engines.vllm.settle import Settled, settle
from cardmatch.engine.memory.engines.vllm.states import state_dtypes
from cardmatch.engine.memory.extras import drafter_bytes, slots_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.remember import Beside, Same, is_small
from cardmatch.engine.memory.reservation import Pool, Reservation
from cardmatch.engine.memory.weights import PipelineStage, pipeline_stages, with_larger_experts
from cardmatch.engine.models.cache import CacheKind
from cardmatch.engine.terms.band import Band, add
from cardmatch.engine.terms.units import GIB

_ROTARY_BYTES = 2


class Fixed(NamedTuple):
    """What lies on every GPU beside weights and cache; `graphs` are printed whether or not the budget counts them."""

    activations: Band
    overhead: Band
    graphs: int


class _Stage(NamedTuple):
    """A pipeline stage: bytes of weights and the cache of one request on each of its GPUs."""

    weights: Band
    cache: CacheLayout


class Planned(NamedTuple):
    """What does not depend on the memory of the card."""

    fixed: Fixed
    grouping: Plan
    stages: list[_Stage]


def reserve(job: ServingJob, options: Vllm, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What vLLM with *options* reserves on the fullest GPU of *placement* for *job*.

    Source: vllm v0.33.0 v1/worker/gpu_worker.py, determine_available_memory: utilisation × total memory, less what
    other processes hold, less weights and profiled peak; captured graphs are taken off too since 0.21.
    """
    longest = options.max_model_len or job.context_tokens
    settled = settle(options, placement.device, placement.layout, longest)
    fixed, grouping, stages = _planned_for(job, options, settled, placement, longest, calibration.vllm)
    budget = int(settled.utilization * placement.device.memory_bytes) - placement.occupied_bytes
    left = budget - fixed.activations.expected_bytes - fixed.overhead.expected_bytes
    stage = stages[0] if len(stages) == 1 else _binding(stages, left)
    weights = stage.weights
    available = _cache_bytes(options, stage, left - weights.expected_bytes)
    high = weights.high_bytes + fixed.activations.high_bytes + fixed.overhead.high_bytes
    host = int((options.cpu_offload_gb + (options.swap_space or 0.0)) * GIB) * placement.layout.gpus
    return Reservation(
        weights=weights,
        activations=fixed.activations,
        overhead=fixed.overhead,
        cache=stage.cache,
        pools=(
            *_pools(options, placement, budget, budget - left + weights.expected_bytes, high, available),
            *host_pool(placement, host),
        ),
        longest_tokens=longest,
        most_requests=settled.max_num_seqs,
        budget_bytes=budget,
        reserves=reserves(
            version=options.version,
            weights=weights.expected_bytes,
            pool=available,
            graphs=fixed.graphs,
            cache=stage.cache,
            plan=grouping,
            longest=longest,
            settled=settled,
        ),
        host_ram_bytes=host,
        offloaded=options.cpu_offload_gb > 0,
        noise_low_bytes=calibration.vllm.noise.low_bytes,
        noise_high_bytes=calibration.vllm.noise.high_bytes,
        notices=notices(job, options, settled, placement, stage.cache, longest, available),
    )


def _planned_for(
    job: ServingJob, options: Vllm, settled: Settled, placement: Placement, longest: int, fitted: VllmCalibration
) -> Planned:
    """Peaks, groups and stages, made once for all cards and requests that they are the same for."""
    device = placement.device
    indexed = any(row.kind is CacheKind.INDEXER for row in job.cache_rows)
    made = planned if is_small(job.architecture) else planned.__wrapped__
    return made(
        Beside((job, placement)),
        Same(job.sums),
        Same(fitted),
        Same(job.drafter),
        options,
        settled,
        placement.layout,
        (device.vendor, device.compute_capability) if indexed or job.checkpoint.stored else None,
        (job.kv_cache, job.automatic_cache, job.speculative, job.adapters),
        longest if indexed else 0,
    )


@functools.lru_cache(maxsize=1024)
def planned(
    what: Beside[tuple[ServingJob, Placement]],
    _sums: Same[Any],
    fitted: Same[VllmCalibration],
    _drafter: Same[Any],
    options: Vllm,
    settled: Settled,
    _layout: Layout,
    _device: tuple[str | None, str | None] | None,
    _formats: tuple[Any, ...],
    longest: int,
) -> Planned:
    """What *what* plans: a job on a placement, all that counts of which the other arguments say."""
    job, placement = what.of
    how = caching(
        job, settled, placement, state_dtypes(job, options, settled.era), hybrid=_is_hybrid(job, options, settled)
    )
    grouping = whole_plan(job, how)
    fixed = _fixed(job, options, settled, placement, longest, fitted.of)
    return Planned(fixed, grouping, _stages(job, options, placement, grouping, how))


def _fixed(
    job: ServingJob,
    options: Vllm,
    settled: Settled,
    placement: Placement,
    longest: int,
    calibration: VllmCalibration,
) -> Fixed:
    context = fitted_band(calibration.context_bytes, 1)
    if placement.layout.gpus > 1:
        context = add(context, fitted_band(calibration.rank_bytes, 1))
    graphs = sure(0) if options.enforce_eager else fitted_band(calibration.graph_bytes, 1)
    estimated = settled.era.graphs_in_budget if options.estimate_cudagraphs is None else options.estimate_cudagraphs
    return Fixed(
        activations=activations(job, options, settled, placement.layout, longest, calibration),
        overhead=add(context, graphs) if estimated else context,
        graphs=graphs.expected_bytes,
    )


def _is_hybrid(job: ServingJob, options: Vllm, settled: Settled) -> bool:
    """Whether windows are managed as such; chunked attention was charged at full length at first (vllm#19407)."""
    chunked = any(row.kind is CacheKind.CHUNKED for row in job.cache_rows)
    known = settled.era.groups_chunked if chunked else settled.era.groups_layers
    return known and not options.disable_hybrid_kv_cache_manager


def _stages(job: ServingJob, options: Vllm, placement: Placement, grouping: Plan, how: Caching) -> list[_Stage]:
    """Every stage; each GPU also keeps the rotary cos/sin table in 16 bits and gives up what it offloads."""
    rotary = job.architecture.rotary_cache_elements * _ROTARY_BYTES
    offloaded = int(options.cpu_offload_gb * GIB)
    growth = expert_growth(job.architecture, job.checkpoint, placement.device, placement.layout)
    sums = job.sums if growth == 1 else with_larger_experts(job.sums, growth)
    stages = pipeline_stages(sums, job.architecture.layer_order, placement.layout)
    only = len(stages) == 1

    drafter = drafter_bytes(job, placement.layout)
    tensor, sharded = placement.layout.tensor, options.fully_sharded_loras
    order, alike = job.architecture.layer_order, dict[tuple[tuple[int, ...], bool], CacheLayout]()
    slots = slots_bytes(job, tensor, options.max_loras, options.max_lora_rank, sharded=sharded) // len(stages)

    def one(index: int, stage: PipelineStage) -> _Stage:
        weights = sure(max(0, stage.weights_bytes + rotary + slots - offloaded))
        last = index == len(stages) - 1
        layers = order[stage.start : stage.start + stage.layers], last
        cache = alike.get(layers)
        if cache is None:
            cache = alike[layers] = stage_cache(job, grouping, None if only else stage, how)
        return _Stage(add(weights, drafter) if last and job.speculative is not None else weights, cache)

    return [one(index, stage) for index, stage in enumerate(stages)]


def _binding(stages: list[_Stage], left: int) -> _Stage:
    """The stage with the fewest blocks: all hold as many as it does (v1/core/kv_cache_planning.py)."""
    return min(stages, key=lambda stage: (left - stage.weights.expected_bytes) / max(stage.cache.block_bytes, 1))


def _cache_bytes(options: Vllm, stage: _Stage, left: int) -> int:
    if options.num_gpu_blocks_override is not None:
        return options.num_gpu_blocks_override * stage.cache.block_bytes
    return left if options.kv_cache_memory_bytes is None else options.kv_cache_memory_bytes


def _pools(
    options: Vllm, placement: Placement, budget: int, expected: int, high: int, available: int
) -> tuple[Pool, ...]:
    """One budget for everything, or, where the size of the cache is given, the cache and the card as it is."""
    if options.kv_cache_memory_bytes is None and options.num_gpu_blocks_override is None:
        return (
            Pool(
                name="gpu_memory_utilization",
                budget_bytes=budget,
                fixed_expected_bytes=expected,
                fixed_high_bytes=high,
            ),
        )
    given = "kv_cache_memory_bytes" if options.num_gpu_blocks_override is None else "num_gpu_blocks_override"
    return (
        Pool(name=given, budget_bytes=available, fixed_expected_bytes=0, fixed_high_bytes=0),
        Pool(
            name="device_memory",
            budget_bytes=placement.device.memory_bytes - placement.occupied_bytes,
            fixed_expected_bytes=expected + available,
            fixed_high_bytes=high + available,
            holds_cache=False,
        ),
    )
