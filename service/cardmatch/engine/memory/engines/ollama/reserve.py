"""What Ollama sets aside: its llama-server's buffers, less the memory that it was told to leave free."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.reserve import reserve as reserve_llama_cpp
from cardmatch.engine.memory.engines.ollama.options import Ollama, as_llama_cpp
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation


def reserve(job: ServingJob, options: Ollama, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What Ollama with *options* reserves on the fullest GPU of *placement* for *job*."""
    where = msgspec.structs.replace(placement, occupied_bytes=placement.occupied_bytes + options.gpu_overhead_bytes)
    return reserve_llama_cpp(job, as_llama_cpp(options, job), where, calibration)
