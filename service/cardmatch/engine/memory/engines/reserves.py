"""The figures that each engine's log will print, one struct an engine, tagged by its name."""

from __future__ import annotations

from cardmatch.engine.memory.engines.llama_cpp.reserves import LlamaCppReserves
from cardmatch.engine.memory.engines.sglang.reserves import SglangReserves
from cardmatch.engine.memory.engines.tensorrt_llm.reserves import TensorrtLlmReserves
from cardmatch.engine.memory.engines.transformers.reserves import TransformersReserves
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves

AnyReserves = VllmReserves | SglangReserves | TensorrtLlmReserves | LlamaCppReserves | TransformersReserves
