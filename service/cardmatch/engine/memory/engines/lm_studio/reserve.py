"""What LM Studio sets aside: its llama.cpp's buffers."""

from __future__ import annotations

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.reserve import reserve as reserve_llama_cpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio, as_llama_cpp
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation


def reserve(job: ServingJob, options: LmStudio, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What LM Studio with *options* reserves on the fullest GPU of *placement* for *job*."""
    return reserve_llama_cpp(job, as_llama_cpp(options, job), placement, calibration)
