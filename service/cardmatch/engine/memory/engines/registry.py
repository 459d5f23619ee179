"""Every engine that a request may name, and what each reserves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.reserve import reserve as reserve_llama_cpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.lm_studio.reserve import reserve as reserve_lm_studio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.ollama.reserve import reserve as reserve_ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.sglang.reserve import reserve as reserve_sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.tensorrt_llm.reserve import reserve as reserve_tensorrt_llm
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.transformers.reserve import reserve as reserve_transformers
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.reserve import reserve as reserve_vllm
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Reservation

AnyEngine = Vllm | Sglang | TensorrtLlm | LlamaCpp | Ollama | LmStudio | Transformers

_RESERVE: dict[type, Callable[[ServingJob, Any, Placement, MemoryCalibration], Reservation]] = {
    Vllm: reserve_vllm,
    LlamaCpp: reserve_llama_cpp,
    Ollama: reserve_ollama,
    LmStudio: reserve_lm_studio,
    Sglang: reserve_sglang,
    TensorrtLlm: reserve_tensorrt_llm,
    Transformers: reserve_transformers,
}


def reserve(job: ServingJob, engine: AnyEngine, placement: Placement, calibration: MemoryCalibration) -> Reservation:
    """What *engine* sets aside on the fullest GPU of *placement*."""
    return _RESERVE[type(engine)](job, engine, placement, calibration)


LLAMA_CPP_KIN = (LlamaCpp, Ollama, LmStudio)
_LAYER_SPLIT = (*LLAMA_CPP_KIN, Transformers)


def arranged(engine: AnyEngine, placement: Placement) -> Placement:
    """*placement* as *engine* can use it: llama.cpp, its kin and Transformers' device_map give whole layers to each."""
    layout = placement.layout
    if layout.tensor == 1 or not isinstance(engine, _LAYER_SPLIT):
        return placement
    return msgspec.structs.replace(placement, layout=Layout(pipeline=layout.tensor * layout.pipeline, data=layout.data))
