"""What Ollama sets aside: the buffers of its llama-server, less the memory that it was told to leave free.

Sources: ollama v0.32.15 llm/llama_server.go: since 0.30 Ollama starts an unchanged llama-server (LLAMA_CPP_VERSION
b10488); before, a runner of its own kept full-size windows and all logits.
"""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.reserve import reserve as reserve_llama_cpp
from cardmatch.engine.memory.engines.ollama.defaults import batch_of, length_of, served, slots_of
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation

_SERVER_BUILD, _RUNNER_BUILD = "b10488", "b6000"


def reserve(job: ServingJob, options: Ollama, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What Ollama with *options* reserves on the fullest GPU of *placement* for *job*."""
    where = msgspec.structs.replace(placement, occupied_bytes=placement.occupied_bytes + options.gpu_overhead_bytes)
    return reserve_llama_cpp(job, as_llama_cpp(options, job, where), where, calibration)


def as_llama_cpp(options: Ollama, job: ServingJob, placement: Placement) -> LlamaCpp:
    """The llama-server that Ollama starts: a cache of the same length for each slot."""
    slots = slots_of(options, job)
    length = length_of(options, job, placement)
    batch = batch_of(options, job, placement, (length or job.context_tokens) * slots)
    towers = bool(job.architecture.towers)
    return LlamaCpp(
        version=_SERVER_BUILD if served(options) else _RUNNER_BUILD,
        n_ctx=length * slots if length else None,
        n_batch=batch,
        n_ubatch=batch,
        n_parallel=slots,
        kv_unified=False,
        swa_full=not served(options),
        flash_attention=options.flash_attention,
        n_gpu_layers=options.num_gpu,
        draft=options.draft,
        draft_tokens=options.draft_tokens,
        mmproj=towers if options.mmproj is None else options.mmproj,
    )
