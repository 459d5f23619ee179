"""The lines of llama.cpp, Ollama and LM Studio: the buffers that the log prints."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.reserve import lay, spread_of
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.lm_studio.options import as_llama_cpp as lm_studio_server
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.ollama.reserve import as_llama_cpp as ollama_server
from cardmatch.engine.memory.explain.explanation import Explanation, Rule
from cardmatch.engine.memory.explain.lines import Book, cache_lines, constant_line
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation

_FILES = {
    Rule.WEIGHTS_BUFFER: "src/llama-model.cpp",
    Rule.CACHE_ALL: "src/llama-kv-cache.cpp",
    Rule.CACHE_RESIDENT: "src/llama-kv-cache-iswa.cpp",
    Rule.COMPUTE_BUFFER: "src/llama-context.cpp",
    Rule.DRAFT_BUFFER: "src/llama-context.cpp",
}


def explain(
    job: ServingJob, options: Any, placement: Placement, reservation: Reservation, calibration: MemoryCalibration
) -> list[Explanation]:
    """Every line of what llama.cpp or its kin take on the fullest GPU of *placement*."""
    book = Book("llama_cpp", "b11501", "ggml/src/ggml-cuda/ggml-cuda.cu", _FILES, calibration.as_of)
    laid = lay(job, _server(options, job, placement), placement.layout.tensor * placement.layout.pipeline)
    gpu, fitted = laid.fullest, calibration.llama_cpp
    compute = spread_of(job, laid.settled, fitted)
    occupied = placement.device.memory_bytes - reservation.budget_bytes
    cache, state = laid.resident
    return [
        book.line(
            Rule.WEIGHTS_BUFFER,
            reservation.weights.expected_bytes,
            buffer_bytes=gpu.model_bytes,
            projector_bytes=gpu.projector_bytes,
        ),
        *cache_lines(book, job, reservation, job.concurrency),
        book.line(Rule.CACHE_RESIDENT, cache + state, window_and_spare_bytes=cache, state_bytes=state),
        book.line(
            Rule.COMPUTE_BUFFER,
            compute.value * gpu.compute_bytes,
            compute,
            ratio=compute.value,
            graph_bytes=gpu.compute_bytes,
        ),
        book.line(Rule.DRAFT_BUFFER, gpu.draft_bytes, draft_bytes=gpu.draft_bytes),
        constant_line(book, Rule.CONTEXT, "context_bytes", fitted.context_bytes),
        book.line(
            Rule.BUDGET_FREE,
            reservation.budget_bytes,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=occupied,
        ),
    ]


def _server(options: Any, job: ServingJob, placement: Placement) -> LlamaCpp:
    if isinstance(options, Ollama):
        occupied = placement.occupied_bytes + options.gpu_overhead_bytes
        return ollama_server(options, job, msgspec.structs.replace(placement, occupied_bytes=occupied))
    if isinstance(options, LmStudio):
        return lm_studio_server(options, job)
    found: LlamaCpp = options
    return found
