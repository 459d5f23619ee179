"""vLLM's lines."""

from __future__ import annotations

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.calibration import MemoryCalibration, VllmCalibration
from cardmatch.engine.memory.engines.vllm.activations import ACTIVATION_BYTES, INDEXER_LOGITS_BYTES, LOGIT_BYTES, peaks
from cardmatch.engine.memory.engines.vllm.eras import Sampler
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.repack import expert_growth
from cardmatch.engine.memory.engines.vllm.settle import Settled, settle
from cardmatch.engine.memory.explain.explanation import Explanation, Rule
from cardmatch.engine.memory.explain.lines import Book, cache_lines, constant_line, lora_line, weight_lines
from cardmatch.engine.memory.extras import DEFAULT_RANK, drafter_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.terms.units import GIB

_FILES = {
    Rule.CACHE_ALL: "v1/core/kv_cache_utils.py",
    Rule.CACHE_WINDOW: "v1/kv_cache_interface.py",
    Rule.CACHE_FIXED: "v1/kv_cache_interface.py",
    Rule.CACHE_SHARED: "v1/core/kv_cache_manager.py",
    Rule.WEIGHTS_PADDED_EXPERTS: "model_executor/layers/fused_moe/oracle/mxfp4.py",
    Rule.WEIGHTS_SPLIT: "model_executor/layers/linear.py",
    Rule.WEIGHTS_HEADS: "model_executor/layers/linear.py",
    Rule.WEIGHTS_COPIED: "model_executor/layers/linear.py",
    Rule.WEIGHTS_EXPERTS: "model_executor/layers/fused_moe/layer.py",
    Rule.WEIGHTS_STAGE: "distributed/utils.py",
    Rule.ROTARY_TABLE: "model_executor/layers/rotary_embedding/base.py",
    Rule.LORA_SLOTS: "lora/layers/base_linear.py",
    Rule.HIDDEN_STATES: "v1/worker/gpu_model_runner.py",
    Rule.FORWARD: "v1/worker/gpu_model_runner.py",
    Rule.SAMPLING: "v1/worker/gpu_model_runner.py",
    Rule.ENCODER_PROFILE: "v1/worker/gpu_model_runner.py",
    Rule.INDEXER_SCORES: "model_executor/layers/sparse_attn_indexer.py",
}


def explain(
    job: ServingJob, options: Vllm, placement: Placement, reservation: Reservation, calibration: MemoryCalibration
) -> list[Explanation]:
    """Every line of what vLLM reserves on the fullest GPU of *placement*."""
    book = Book("vllm", "0.33.0", "v1/worker/gpu_worker.py", _FILES, calibration.as_of)
    settled = settle(options, placement.device, placement.layout, reservation.longest_tokens)
    share = -(-job.concurrency // placement.layout.data)
    return [
        *_weights(book, job, options, placement, reservation),
        *cache_lines(book, job, reservation, share),
        *_activations(book, job, options, settled, placement.layout, reservation, calibration.vllm),
        *_overhead(book, options, settled, placement.layout, calibration.vllm),
        book.line(
            Rule.BUDGET_SHARE,
            reservation.budget_bytes,
            utilization=settled.utilization,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=placement.occupied_bytes,
        ),
    ]


def _weights(
    book: Book, job: ServingJob, options: Vllm, placement: Placement, reservation: Reservation
) -> list[Explanation]:
    layout = placement.layout
    elements, offloaded = job.architecture.rotary_cache_elements, int(options.cpu_offload_gb * GIB)
    drafter = drafter_bytes(job, layout).expected_bytes if layout.pipeline == 1 else 0
    beside = [
        book.line(Rule.ROTARY_TABLE, elements * 2, elements=elements),
        *_slots(book, job, options, layout),
        book.line(Rule.DRAFTER, drafter, drafter_bytes=drafter),
        book.line(Rule.OFFLOADED, -offloaded, offloaded_bytes=offloaded),
    ]
    if layout.pipeline == 1:
        growth = expert_growth(job.architecture, job.checkpoint, placement.device, layout)
        return weight_lines(book, job.sums, layout, growth) + beside
    stage = reservation.weights.expected_bytes - sum(line.result_bytes for line in beside)
    return [book.line(Rule.WEIGHTS_STAGE, stage, stage_bytes=stage, stages=layout.pipeline), *beside]


def _slots(book: Book, job: ServingJob, options: Vllm, layout: Layout) -> list[Explanation]:
    adapters = job.adapters
    count = options.max_loras or (adapters.count if adapters else None)
    if count is None:
        return []
    rank = options.max_lora_rank or (adapters.rank if adapters else DEFAULT_RANK)
    sharded = options.fully_sharded_loras
    return [lora_line(book, job, count, rank, layout.tensor, stages=layout.pipeline, sharded=sharded)]


def _activations(
    book: Book,
    job: ServingJob,
    options: Vllm,
    settled: Settled,
    layout: Layout,
    reservation: Reservation,
    calibration: VllmCalibration,
) -> list[Explanation]:
    """The hidden states, and the largest of the peaks."""
    batched, hidden = settled.max_num_batched_tokens, job.architecture.hidden_size
    longest = reservation.longest_tokens
    found = peaks(job, options, settled, layout, longest, calibration)
    highest = max(found, key=lambda rule: found[rule].expected_bytes)
    size = found[highest].expected_bytes
    lines = {
        Rule.SAMPLING: lambda: _sampling(book, job, settled, size, calibration),
        Rule.FORWARD: lambda: book.line(
            Rule.FORWARD,
            size,
            calibration.forward_widths,
            widths=calibration.forward_widths.value,
            batched_tokens=batched,
            widest_layer=widest(job.widths, layout.tensor),
        ),
        Rule.INDEXER_SCORES: lambda: book.line(
            Rule.INDEXER_SCORES,
            size,
            batched_tokens=batched,
            longest_tokens=longest,
            most_bytes=batched * longest * LOGIT_BYTES if settled.era.whole_indexer_logits else INDEXER_LOGITS_BYTES,
        ),
        Rule.ENCODER_PROFILE: lambda: book.line(
            Rule.ENCODER_PROFILE, size, calibration.tower_bytes, profile_bytes=calibration.tower_bytes.value
        ),
    }
    states = batched * hidden * ACTIVATION_BYTES
    return [
        book.line(Rule.HIDDEN_STATES, states, batched_tokens=batched, hidden_size=hidden),
        lines[highest](),
    ]


def _sampling(book: Book, job: ServingJob, settled: Settled, size: int, calibration: VllmCalibration) -> Explanation:
    copies = calibration.fused_copies if settled.sampler is Sampler.FUSED else calibration.sorted_copies
    return book.line(
        Rule.SAMPLING,
        size,
        copies,
        copies=copies.value,
        requests=min(settled.max_num_seqs, settled.max_num_batched_tokens),
        vocabulary_size=job.architecture.vocabulary_size,
    )


def _overhead(
    book: Book, options: Vllm, settled: Settled, layout: Layout, calibration: VllmCalibration
) -> list[Explanation]:
    context, rank, graphs = calibration.context_bytes, calibration.rank_bytes, calibration.graph_bytes
    lines = [constant_line(book, Rule.CONTEXT, "context_bytes", context)]
    if layout.gpus > 1:
        lines.append(constant_line(book, Rule.COMMUNICATION, "rank_bytes", rank))
    counted = settled.era.graphs_in_budget if options.estimate_cudagraphs is None else options.estimate_cudagraphs
    if counted and not options.enforce_eager:
        lines.append(constant_line(book, Rule.GRAPHS, "graph_bytes", graphs))
    return lines
