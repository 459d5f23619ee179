"""What an estimate assumes about the engine where the request does not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.settled import settle as settle_llama_cpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.lm_studio.options import as_llama_cpp as lm_studio_server
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.terms.notice import Assumption


def _longest(job: ServingJob, _: Any) -> int:
    return job.context_tokens


_LENGTHS: dict[type, tuple[str, Callable[[ServingJob, Any], int]]] = {
    Vllm: ("max_model_len", _longest),
    Sglang: ("context_length", _longest),
    TensorrtLlm: ("max_seq_len", _longest),
    Ollama: ("num_ctx", _longest),
    LlamaCpp: ("n_ctx", lambda job, engine: settle_llama_cpp(engine, job).n_ctx),
    LmStudio: ("context_length", lambda job, engine: settle_llama_cpp(lm_studio_server(engine, job), job).n_ctx),
}
"""The option for the engine's maximum length, and what is taken for it: what the workload needs."""


def assumed_of_engine(job: ServingJob, engine: AnyEngine) -> tuple[Assumption, ...]:
    """The engine's maximum length where its options leave that open; Ollama's own goes by the placement."""
    if isinstance(engine, Ollama) and engine.num_ctx_by_memory:
        return ()
    option = _LENGTHS.get(type(engine))
    if option is None or getattr(engine, option[0]) is not None:
        return ()
    return (Assumption(pointer=f"/workload/engine/{option[0]}", value=option[1](job, engine)),)
