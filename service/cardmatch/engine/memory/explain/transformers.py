"""The lines of a Transformers process."""

from __future__ import annotations

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.transformers.options import AttentionImplementation, Transformers
from cardmatch.engine.memory.engines.transformers.reserve import query_heads, untied_head_bytes
from cardmatch.engine.memory.explain.explanation import Explanation, Rule
from cardmatch.engine.memory.explain.lines import Book, cache_lines, constant_line, lora_line, weight_lines
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.memory.widths import widest

_FILES = {
    Rule.CACHE_ALL: "cache_utils.py",
    Rule.CACHE_WINDOW: "cache_utils.py",
    Rule.CACHE_FIXED: "cache_utils.py",
    Rule.PREFILL: "generation/utils.py",
    Rule.PREFILL_EAGER: "integrations/eager_attention.py",
    Rule.UNTIED_HEAD: "integrations/finegrained_fp8.py",
}


def explain(
    job: ServingJob,
    options: Transformers,
    placement: Placement,
    reservation: Reservation,
    calibration: MemoryCalibration,
) -> list[Explanation]:
    """Every line of what a Transformers process takes on the fullest GPU of *placement*."""
    book = Book("transformers", "5.24.0", "modeling_utils.py", _FILES, calibration.as_of)
    fitted, layout = calibration.transformers, placement.layout
    share = -(-job.concurrency // layout.data)
    return [
        *_weights(book, job, placement, reservation),
        *cache_lines(book, job, reservation, share),
        _prefill(book, job, options, placement, reservation, calibration),
        constant_line(book, Rule.ALLOCATOR, "base_bytes", fitted.base_bytes),
        constant_line(book, Rule.CONTEXT, "context_bytes", fitted.context_bytes),
        book.line(
            Rule.BUDGET_FREE,
            reservation.budget_bytes,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=placement.occupied_bytes,
        ),
    ]


def _weights(book: Book, job: ServingJob, placement: Placement, reservation: Reservation) -> list[Explanation]:
    head, adapters = untied_head_bytes(job, placement), job.adapters
    beside = [book.line(Rule.UNTIED_HEAD, head, head_bytes=head)]
    if adapters is not None:
        beside.append(lora_line(book, job, adapters.count, adapters.rank, 1))
    if placement.layout.pipeline == 1:
        return weight_lines(book, job.sums, placement.layout) + beside
    stage = reservation.weights.expected_bytes - sum(line.result_bytes for line in beside)
    return [book.line(Rule.WEIGHTS_STAGE, stage, stage_bytes=stage, stages=placement.layout.pipeline), *beside]


def _prefill(
    book: Book,
    job: ServingJob,
    options: Transformers,
    placement: Placement,
    reservation: Reservation,
    calibration: MemoryCalibration,
) -> Explanation:
    fitted = calibration.transformers.forward_widths
    eager = options.attn_implementation is AttentionImplementation.EAGER
    heads = {"query_heads": query_heads(job.architecture)} if eager else {}
    return book.line(
        Rule.PREFILL_EAGER if eager else Rule.PREFILL,
        reservation.activations.expected_bytes,
        fitted,
        widths=fitted.value,
        requests=-(-job.concurrency // placement.layout.data),
        prompt_tokens=options.prompt_tokens or max(1, job.mean_tokens // 2),
        widest_layer=widest(job.widths, placement.layout.tensor),
        **heads,
    )
