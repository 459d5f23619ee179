"""The figures that each engine's log will print, one struct an engine, tagged by its name."""

from __future__ import annotations

from cardmatch.engine.memory.engines.llama_cpp.reserves import LlamaCppReserves
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves

AnyReserves = VllmReserves | LlamaCppReserves
