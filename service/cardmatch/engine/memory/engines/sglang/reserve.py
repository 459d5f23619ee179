"""What SGLang sets aside: a static share for weights and pools of cache, the rest for activations and graphs."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.bands import fitted_band, sure
from cardmatch.engine.memory.cache_layout import CacheLayout, CacheTerm
from cardmatch.engine.memory.calibration import MemoryCalibration, SglangCalibration
from cardmatch.engine.memory.engines.offload import host_pool, over_the_bus
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.sglang.pools import Pools, pools
from cardmatch.engine.memory.engines.sglang.reserves import SglangReserves
from cardmatch.engine.memory.engines.sglang.settle import Settled, settle
from cardmatch.engine.memory.extras import drafter_bytes, drafting_rows, slots_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Pool, Reservation
from cardmatch.engine.memory.weights import PipelineStage, pipeline_stages
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.models.cache import CacheRow, by_layer
from cardmatch.engine.terms.band import Band, add
from cardmatch.engine.terms.units import GIB

_ACTIVATION_BYTES = 2
_LOGIT_BYTES = 4
_FEWEST_REQUESTS, _MOST_REQUESTS = 2048, 4096


class _Stage(NamedTuple):
    """A pipeline stage: its weights, and the pools that the static share leaves room for."""

    weights: int
    pools: Pools


def reserve(job: ServingJob, options: Sglang, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What SGLang with *options* reserves on the fullest GPU of *placement* for *job*.

    Source: sglang v0.5.23 srt/mem_cache/kv_cache_configurator.py, _profile_available_bytes: pools take what is free
    after loading, less (1 − static share) × what was free before.
    """
    fitted = calibration.sglang
    settled = settle(options, job, placement.device, placement.layout)
    context = fitted_band(fitted.context_bytes, 1)
    before = placement.device.memory_bytes - placement.occupied_bytes - context.expected_bytes
    static = int(settled.static_share * before)
    stage = _binding(job, options, placement, settled, static)
    activations, overhead, graphs = _rest(job, settled, placement, fitted)
    longest = options.context_length or job.context_tokens
    requests = _most_requests(options, stage.pools, longest)
    host = int(options.cpu_offload_gb * GIB) * placement.layout.gpus
    return Reservation(
        weights=sure(stage.weights),
        activations=activations,
        overhead=add(context, overhead, graphs),
        cache=stage.pools.whole,
        pools=(
            *_static_pools(stage, static),
            Pool(
                name="outside_mem_fraction_static",
                budget_bytes=before - static,
                fixed_expected_bytes=activations.expected_bytes + overhead.expected_bytes + graphs.expected_bytes,
                fixed_high_bytes=activations.high_bytes + overhead.high_bytes + graphs.high_bytes,
                holds_cache=False,
            ),
            *host_pool(placement, host),
        ),
        longest_tokens=longest,
        most_requests=requests,
        budget_bytes=before + context.expected_bytes,
        reserves=_reserves(options, settled, stage, graphs.expected_bytes, requests, longest),
        copies=settled.attention_copies,
        host_ram_bytes=host,
        offloaded=host > 0,
        notices=(over_the_bus(job, int(options.cpu_offload_gb * GIB), placement),) if host else (),
    )


def _binding(job: ServingJob, options: Sglang, placement: Placement, settled: Settled, static: int) -> _Stage:
    """The stage whose pool holds the fewest tokens: all hold as many as it does."""
    found = pipeline_stages(job.sums, job.architecture.layer_order, placement.layout)
    stages = [_stage(job, options, placement, settled, stage, static, only=len(found) == 1) for stage in found]
    return min(stages, key=lambda stage: (stage.pools.tokens, static - stage.weights))


def _stage(
    job: ServingJob,
    options: Sglang,
    placement: Placement,
    settled: Settled,
    stage: PipelineStage,
    static: int,
    *,
    only: bool,
) -> _Stage:
    rotary = job.architecture.rotary_cache_elements * _ACTIVATION_BYTES
    slots = slots_bytes(job, settled.tensor, options.max_loras_per_batch, options.max_lora_rank)
    weights = max(0, stage.weights_bytes + rotary + slots - int(options.cpu_offload_gb * GIB))
    end = stage.start + stage.layers
    rows = job.cache_rows if only else by_layer(job.architecture, range(stage.start, end))
    drafts: tuple[CacheRow, ...] = ()
    if job.speculative is not None and end == len(job.architecture.layer_order):
        weights += drafter_bytes(job, placement.layout).expected_bytes
        drafts = drafting_rows(job)
    return _Stage(weights, pools(rows, drafts, job, options, settled, static - weights))


def _static_pools(stage: _Stage, static: int) -> tuple[Pool, ...]:
    """The static share less the pools of windows and states, and each of those."""
    found = stage.pools
    fixed = stage.weights + found.sliding_bytes + found.state_bytes
    every = [
        Pool(
            name="mem_fraction_static",
            budget_bytes=static,
            fixed_expected_bytes=fixed,
            fixed_high_bytes=fixed,
            cache=CacheLayout(terms=found.full, ranks=found.whole.ranks),
        )
    ]
    for name, size, terms in (
        ("swa_full_tokens_ratio", found.sliding_bytes, found.sliding),
        ("mamba_full_memory_ratio", found.state_bytes, found.states),
    ):
        if terms:
            every.append(_own_pool(name, size, terms))
    return tuple(every)


def _own_pool(name: str, size: int, terms: tuple[CacheTerm, ...]) -> Pool:
    return Pool(
        name=name, budget_bytes=size, fixed_expected_bytes=0, fixed_high_bytes=0, cache=CacheLayout(terms=terms)
    )


def _rest(
    job: ServingJob, settled: Settled, placement: Placement, calibration: SglangCalibration
) -> tuple[Band, Band, Band]:
    """Activations of a prefill chunk or the logits of a captured batch, communication buffers, and graphs."""
    tensor = placement.layout.tensor
    tokens = settled.chunk_tokens * _ACTIVATION_BYTES * widest(job.widths, tensor)
    logits = settled.graph_requests * job.architecture.vocabulary_size * _LOGIT_BYTES
    activations = fitted_band(calibration.forward_widths, tokens + logits)
    ranks = fitted_band(calibration.rank_bytes, 1) if placement.layout.gpus > 1 else sure(0)
    graphs = fitted_band(calibration.graph_bytes, 1) if settled.graph_requests else sure(0)
    return activations, ranks, graphs


def _most_requests(options: Sglang, found: Pools, longest: int) -> int:
    """Source: sglang v0.5.23 srt/mem_cache/kv_cache_configurator.py, resolve_max_num_reqs."""
    estimated = max(min(int(found.tokens / longest * 512), _MOST_REQUESTS), _FEWEST_REQUESTS)
    most = min(options.max_running_requests or estimated, max(1, found.tokens // 2))
    return min(most, found.state_slots // found.slots_per_request) if found.states else most


def _reserves(
    options: Sglang, settled: Settled, stage: _Stage, graphs: int, requests: int, longest: int
) -> SglangReserves:
    found = stage.pools
    return SglangReserves(
        version=options.version,
        model_bytes=stage.weights,
        kv_cache_bytes=found.kv_bytes,
        kv_cache_tokens=found.tokens,
        sliding_tokens=found.sliding_tokens,
        state_bytes=found.state_bytes,
        state_slots=found.state_slots,
        static_share=settled.static_share,
        graphs_bytes=graphs,
        chunked_prefill_size=settled.chunk_tokens,
        max_running_requests=max(requests, 0),
        context_length_tokens=longest,
    )
