"""From a job on a placement, as the memory room knows them, to the seat that speed is predicted for."""

from __future__ import annotations

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine, arranged, reserve
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.pace import EngineKind
from cardmatch.engine.speed.serving import Seat
from cardmatch.engine.speed.training import MACHINE_GPUS
from cardmatch.engine.terms.notice import NoticeCode

KINDS: dict[type, EngineKind] = {
    Vllm: EngineKind.VLLM,
    Sglang: EngineKind.SGLANG,
    TensorrtLlm: EngineKind.TENSORRT_LLM,
    LlamaCpp: EngineKind.LLAMA_CPP,
    LmStudio: EngineKind.LLAMA_CPP,
    Ollama: EngineKind.OLLAMA,
    Transformers: EngineKind.TRANSFORMERS,
}


def seat_of(engine: AnyEngine, placement: Placement, chip: Chip, max_concurrency: int) -> Seat:
    """The seat of *engine* on *placement*, which holds *max_concurrency* requests in all (a memory estimate's)."""
    layout = placement.layout
    return Seat(
        engine=KINDS[type(engine)],
        chip=chip,
        layout=layout,
        slots=max_concurrency / layout.data,
        link=placement.link,
    )


def seated(
    job: ServingJob, engine: AnyEngine, placement: Placement, chip: Chip, calibration: MemoryCalibration
) -> Seat | None:
    """The seat of *job* on the GPUs of *placement*, or None where it runs on none of their layouts.

    Each copy takes as few GPUs as hold it, and copies take all: more GPUs a copy only cost exchanges. Beyond a
    machine's GPUs, and where heads do not divide, layers follow each other.
    """
    for gpus in range(1, placement.count + 1):
        layout = None if placement.count % gpus else _laid_out(job, gpus, placement.count // gpus)
        if layout is None:
            continue
        tried = arranged(engine, msgspec.structs.replace(placement, layout=layout))
        found = _placed(job, engine, tried, calibration)
        if found is not None and found.max_concurrency >= layout.data:
            seat = seat_of(engine, tried, chip, found.max_concurrency)
            return msgspec.structs.replace(seat, times_slower=times_slower(found))
    return None


def _laid_out(job: ServingJob, gpus: int, copies: int) -> Layout | None:
    """As many tensor ranks in a machine as divide GPUs and heads, and stages of them; None beyond the layers."""
    heads = [
        getattr(block, "query_heads", getattr(block, "heads", 0))
        for group in job.architecture.layer_groups
        for block in group.blocks
    ]
    ranks = [
        rank
        for rank in range(1, min(gpus, MACHINE_GPUS) + 1)
        if not gpus % rank and not any(number % rank for number in heads)
    ]
    stages = gpus // ranks[-1]
    return (
        Layout(tensor=ranks[-1], pipeline=stages, data=copies) if stages <= len(job.architecture.layer_order) else None
    )


def times_slower(found: PlacementEstimate) -> tuple[float, float]:
    """How many times slower weights in RAM make a step, at least and at most: the memory room's rule of thumb."""
    said = next((each for each in found.notices if each.code is NoticeCode.OFFLOAD), None)
    if said is None:
        return 1.0, 1.0
    return float(str(said.params["times_slower_low"])), float(str(said.params["times_slower_high"]))


def _placed(
    job: ServingJob, engine: AnyEngine, placement: Placement, calibration: MemoryCalibration
) -> PlacementEstimate | None:
    placed = place(job, placement, reserve(job, engine, placement, calibration))
    return None if placed.verdict is Verdict.DOES_NOT_FIT else placed
