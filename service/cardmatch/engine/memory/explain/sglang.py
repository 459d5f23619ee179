"""SGLang's lines."""

from __future__ import annotations

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.sglang.settle import Settled, settle
from cardmatch.engine.memory.explain.explanation import Explanation, Rule
from cardmatch.engine.memory.explain.lines import Book, cache_lines, constant_line, lora_line, weight_lines
from cardmatch.engine.memory.extras import DEFAULT_RANK, drafter_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.terms.units import GIB

_FILES = {
    Rule.WEIGHTS_SPLIT: "srt/layers/linear.py",
    Rule.WEIGHTS_COPIED: "srt/layers/linear.py",
    Rule.WEIGHTS_HEADS: "srt/layers/linear.py",
    Rule.WEIGHTS_EXPERTS: "srt/layers/moe/fused_moe_triton/layer.py",
    Rule.ROTARY_TABLE: "srt/layers/rotary_embedding/base.py",
    Rule.LORA_SLOTS: "srt/lora/mem_pool.py",
    Rule.CACHE_ALL: "srt/mem_cache/memory_pool.py",
    Rule.CACHE_WINDOW: "srt/mem_cache/swa_memory_pool.py",
    Rule.CACHE_FIXED: "srt/mem_cache/memory_pool.py",
    Rule.CACHE_SHARED: "srt/mem_cache/radix_cache.py",
    Rule.BUDGET_FREE: "srt/mem_cache/kv_cache_configurator.py",
}


def explain(
    job: ServingJob, options: Sglang, placement: Placement, reservation: Reservation, calibration: MemoryCalibration
) -> list[Explanation]:
    """Every line of what SGLang reserves on the fullest GPU of *placement*."""
    book = Book("sglang", "0.5.23", "srt/model_executor/model_runner.py", _FILES, calibration.as_of)
    settled = settle(options, job, placement.device, placement.layout)
    fitted, layout, batched = calibration.sglang, placement.layout, settled.chunk_tokens
    share = -(-job.concurrency // (layout.data * reservation.copies))
    return [
        *_weights(book, job, options, placement, settled, reservation),
        *cache_lines(book, job, reservation, share),
        book.line(
            Rule.PREFILL_AND_LOGITS,
            reservation.activations.expected_bytes,
            fitted.forward_widths,
            widths=fitted.forward_widths.value,
            batched_tokens=batched,
            widest_layer=widest(job.widths, layout.tensor),
            requests=settled.graph_requests,
            vocabulary_size=job.architecture.vocabulary_size,
        ),
        constant_line(book, Rule.CONTEXT, "context_bytes", fitted.context_bytes),
        *([constant_line(book, Rule.COMMUNICATION, "rank_bytes", fitted.rank_bytes)] if layout.gpus > 1 else []),
        *([constant_line(book, Rule.GRAPHS, "graph_bytes", fitted.graph_bytes)] if settled.graph_requests else []),
        book.line(
            Rule.BUDGET_FREE,
            reservation.budget_bytes,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=placement.occupied_bytes,
        ),
    ]


def _weights(
    book: Book,
    job: ServingJob,
    options: Sglang,
    placement: Placement,
    settled: Settled,
    reservation: Reservation,
) -> list[Explanation]:
    layout, adapters = placement.layout, job.adapters
    elements, offloaded = job.architecture.rotary_cache_elements, int(options.cpu_offload_gb * GIB)
    drafter = drafter_bytes(job, layout).expected_bytes if layout.pipeline == 1 else 0
    slots = options.max_loras_per_batch or (adapters.count if adapters else None)
    rank = options.max_lora_rank or (adapters.rank if adapters else DEFAULT_RANK)
    beside = [
        book.line(Rule.ROTARY_TABLE, elements * 2, elements=elements),
        *([lora_line(book, job, slots, rank, settled.tensor)] if slots else []),
        book.line(Rule.DRAFTER, drafter, drafter_bytes=drafter),
        book.line(Rule.OFFLOADED, -offloaded, offloaded_bytes=offloaded),
    ]
    if layout.pipeline == 1:
        return weight_lines(book, job.sums, layout) + beside
    stage = reservation.weights.expected_bytes - sum(line.result_bytes for line in beside)
    return [book.line(Rule.WEIGHTS_STAGE, stage, stage_bytes=stage, stages=layout.pipeline), *beside]
