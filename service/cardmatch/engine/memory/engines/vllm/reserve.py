"""What vLLM sets aside: budget, weights, profiled activations, contexts and graphs; the rest is cache."""

from __future__ import annotations

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.bands import fitted_band, sure
from cardmatch.engine.memory.calibration import MemoryCalibration, VllmCalibration
from cardmatch.engine.memory.engines.vllm.cache import cache_layout
from cardmatch.engine.memory.engines.vllm.options import Settled, Vllm, settle, version_of
from cardmatch.engine.memory.engines.vllm.reserves import reserves
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Pool, Reservation
from cardmatch.engine.memory.weights import weights_by_stage
from cardmatch.engine.memory.widths import widest_layer
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.band import Band, add

_GRAPHS_IN_BUDGET_SINCE = (0, 21)
_LOGIT_BYTES = 4
_ACTIVATION_BYTES = 2


def reserve(job: ServingJob, options: Vllm, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What vLLM with *options* reserves on the fullest GPU of *placement* for *job*.

    Source: vllm v0.33.0 v1/worker/gpu_worker.py, determine_available_memory: utilisation × total memory, less what
    other processes hold, less weights and profiled peak; captured graphs are taken off too since 0.21.
    """
    settled = settle(options, placement.device)
    fitted = calibration.vllm
    weights = sure(_weights(job, placement.layout))
    activations = _activations(job, settled, fitted)
    context = _contexts(placement, fitted)
    graphs = _graphs(job, placement, fitted) if not options.enforce_eager else sure(0)
    budgeted_graphs = graphs if version_of(options.version) >= _GRAPHS_IN_BUDGET_SINCE else sure(0)
    overhead = add(context, budgeted_graphs)
    budget = int(settled.utilization * placement.device.memory_bytes) - placement.occupied_bytes
    fixed = add(weights, activations, overhead)
    cache = cache_layout(job, placement.layout, settled.block_size)
    longest = options.max_model_len or job.context_tokens
    pool = Pool(
        name="gpu_memory_utilization",
        budget_bytes=budget,
        fixed_expected_bytes=fixed.expected_bytes,
        fixed_high_bytes=fixed.high_bytes,
    )
    return Reservation(
        weights=weights,
        activations=activations,
        overhead=overhead,
        cache=cache,
        pools=(pool,),
        longest_tokens=longest,
        most_requests=settled.max_num_seqs,
        budget_bytes=budget,
        reserves=reserves(
            weights=weights.expected_bytes,
            pool=options.kv_cache_memory_bytes or budget - fixed.expected_bytes,
            graphs=graphs.expected_bytes,
            cache=cache,
            longest=longest,
            settled=settled,
        ),
    )


def _weights(job: ServingJob, layout: Layout) -> int:
    """The fullest stage, and the rotary cos/sin table in 16 bits that every rank keeps; MTP layers are not loaded."""
    architecture = job.architecture
    held = tuple(part for part in job.parts if part.kind is not PartKind.MTP)
    stages = weights_by_stage(
        held, architecture.layer_order, len(architecture.layer_groups), layout, tied=architecture.tied_embeddings
    )
    return max(stage.weights_bytes for stage in stages) + architecture.rotary_cache_elements * _ACTIVATION_BYTES


def _activations(job: ServingJob, settled: Settled, calibration: VllmCalibration) -> Band:
    """The profiling run's peak: the sampler's logits of every request, or the widest layer of every batched token."""
    requests = min(settled.max_num_seqs, settled.max_num_batched_tokens)
    logits = requests * job.architecture.vocabulary_size * _LOGIT_BYTES
    tokens = settled.max_num_batched_tokens * widest_layer(job.architecture) * _ACTIVATION_BYTES
    by_logits = fitted_band(calibration.logit_copies, logits)
    by_tokens = fitted_band(calibration.token_widths, tokens)
    return max(by_logits, by_tokens, key=lambda band: band.expected_bytes)


def _contexts(placement: Placement, calibration: VllmCalibration) -> Band:
    one = fitted_band(calibration.context_bytes, 1)
    return one if placement.layout.gpus == 1 else add(one, fitted_band(calibration.rank_bytes, 1))


def _graphs(job: ServingJob, placement: Placement, calibration: VllmCalibration) -> Band:
    layers = -(-len(job.architecture.layer_order) // placement.layout.pipeline)
    return fitted_band(calibration.graph_bytes_per_layer, layers)
