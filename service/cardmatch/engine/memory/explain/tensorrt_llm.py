"""TensorRT-LLM's lines."""

from __future__ import annotations

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.tensorrt_llm.options import Backend, TensorrtLlm
from cardmatch.engine.memory.explain.explanation import Explanation, Rule
from cardmatch.engine.memory.explain.lines import Book, cache_lines, constant_line, lora_line, weight_lines
from cardmatch.engine.memory.extras import drafter_bytes
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.widths import widest

_FILES = {
    Rule.CACHE_ALL: "_torch/pyexecutor/resource_manager.py",
    Rule.CACHE_WINDOW: "_torch/pyexecutor/resource_manager.py",
    Rule.CACHE_FIXED: "_torch/pyexecutor/mamba_cache_manager.py",
    Rule.WEIGHTS_SPLIT: "_torch/modules/linear.py",
    Rule.WEIGHTS_COPIED: "_torch/modules/linear.py",
    Rule.WEIGHTS_HEADS: "_torch/modules/linear.py",
}


def explain(
    job: ServingJob,
    options: TensorrtLlm,
    placement: Placement,
    reservation: Reservation,
    calibration: MemoryCalibration,
) -> list[Explanation]:
    """Every line of what TensorRT-LLM reserves on the fullest GPU of *placement*."""
    book = Book("tensorrt_llm", "1.2.0", "_torch/pyexecutor/_util.py", _FILES, calibration.as_of)
    fitted, layout = calibration.tensorrt_llm, placement.layout
    share = -(-job.concurrency // (layout.data * reservation.copies))
    captures = options.use_cuda_graph and options.backend is Backend.PYTORCH
    fixed = sum(part.expected_bytes for part in (reservation.weights, reservation.activations, reservation.overhead))
    most = placement.device.memory_bytes
    if options.max_tokens is not None:
        most = reservation.cache.request_bytes(options.max_tokens)
    return [
        *_weights(book, job, placement, reservation),
        *cache_lines(book, job, reservation, share),
        book.line(
            Rule.PREFILL_AND_LOGITS,
            reservation.activations.expected_bytes,
            fitted.forward_widths,
            widths=fitted.forward_widths.value,
            batched_tokens=options.max_num_tokens,
            widest_layer=widest(job.widths, layout.tensor),
            requests=min(options.max_batch_size, options.max_num_tokens),
            vocabulary_size=job.architecture.vocabulary_size,
        ),
        constant_line(book, Rule.CONTEXT, "context_bytes", fitted.context_bytes),
        *([constant_line(book, Rule.COMMUNICATION, "rank_bytes", fitted.rank_bytes)] if layout.gpus > 1 else []),
        *([constant_line(book, Rule.GRAPHS, "graph_bytes", fitted.graph_bytes)] if captures else []),
        book.line(
            Rule.BUDGET_AFTER_WEIGHTS,
            reservation.budget_bytes,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=placement.occupied_bytes,
            fixed_bytes=fixed,
            free_fraction=options.kv_cache_free_gpu_memory_fraction,
            most_cache_bytes=most,
        ),
    ]


def _weights(book: Book, job: ServingJob, placement: Placement, reservation: Reservation) -> list[Explanation]:
    layout, adapters = placement.layout, job.adapters
    elements = job.architecture.rotary_cache_elements
    drafter = drafter_bytes(job, layout).expected_bytes if layout.pipeline == 1 else 0
    beside = [book.line(Rule.ROTARY_TABLE, elements * 2, elements=elements)]
    if adapters is not None:
        stages = layout.pipeline
        beside.append(lora_line(book, job, adapters.count, adapters.rank, layout.tensor, stages=stages))
    beside.append(book.line(Rule.DRAFTER, drafter, drafter_bytes=drafter))
    if layout.pipeline == 1:
        return weight_lines(book, job.sums, layout) + beside
    stage = reservation.weights.expected_bytes - sum(line.result_bytes for line in beside)
    return [book.line(Rule.WEIGHTS_STAGE, stage, stage_bytes=stage, stages=layout.pipeline), *beside]
