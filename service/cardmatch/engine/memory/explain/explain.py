"""The reckoning of any engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.explain import llama_cpp, sglang, tensorrt_llm, transformers, vllm
from cardmatch.engine.memory.explain.explanation import Explanation
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation

_Explain = Callable[[ServingJob, Any, Placement, Reservation, MemoryCalibration], list[Explanation]]
_OF: dict[type, _Explain] = {
    Vllm: vllm.explain,
    Sglang: sglang.explain,
    TensorrtLlm: tensorrt_llm.explain,
    Transformers: transformers.explain,
    LlamaCpp: llama_cpp.explain,
    Ollama: llama_cpp.explain,
    LmStudio: llama_cpp.explain,
}


def explain(
    job: ServingJob, engine: Any, placement: Placement, reservation: Reservation, calibration: MemoryCalibration
) -> tuple[Explanation, ...]:
    """How *reservation* came about, line by line; lines from which nothing comes are left out."""
    lines = _OF[type(engine)](job, engine, placement, reservation, calibration)
    return tuple(line for line in lines if line.result_bytes)
