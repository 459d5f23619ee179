"""Every engine that a request may name, and what each reserves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.reserve import reserve as reserve_vllm
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation

AnyEngine = Vllm

_RESERVE: dict[type, Callable[[ServingJob, Any, Placement, MemoryCalibration], Reservation]] = {
    Vllm: reserve_vllm,
}


def reserve(job: ServingJob, engine: AnyEngine, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What *engine* sets aside on the fullest GPU of *placement*."""
    return _RESERVE[type(engine)](job, engine, placement, calibration)
