"""What a request says about its engine that cannot be, whatever the model: versions nobody knows, lengths at odds."""

from __future__ import annotations

from typing import Any

from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.versions import version_of
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

OLDEST = {
    "vllm": "0.1",
    "sglang": "0.1",
    "tensorrt_llm": "0.5",
    "llama_cpp": "b1000",
    "ollama": "0.1",
    "lm_studio": "0.2",
    "transformers": "4.0",
}
"""The first release with which each engine loads today's checkpoints, as far as its release notes go back."""
_LENGTHS = ("max_model_len", "context_length", "max_seq_len")


def check_asked(workload: Inference) -> tuple[Notice, ...]:
    """Refuse what contradicts itself, and say where a version is newer than any that was read.

    Raises Invalid at /workload/engine/version or at the option for the engine's length. What a command line or a log
    says is not the asker's own choice, so it is taken as it is.
    """
    _check_length(workload)
    return _check_version(workload.engine)


def _check_length(workload: Inference) -> None:
    asked = workload.context_tokens
    if asked is None or workload.engine_log is not None or getattr(workload.engine, "args", None) is not None:
        return
    for option in _LENGTHS:
        longest = getattr(workload.engine, option, None)
        if longest is not None and longest < asked and not hasattr(workload.engine, "gpu_layers"):
            raise Invalid(
                Fault(
                    code=FaultCode.CONTRADICTION,
                    pointer=f"/workload/engine/{option}",
                    params={"value": longest, "other": "/workload/context_tokens", "expected": f"≥ {asked}"},
                )
            )


def _check_version(engine: Any) -> tuple[Notice, ...]:
    kind = str(engine.__struct_config__.tag)
    current, oldest = str(type(engine)().version), OLDEST[kind]
    at, first, last = (_order(engine, version) for version in (engine.version, oldest, current))
    if at < first:
        raise Invalid(
            Fault(
                code=FaultCode.ENGINE_VERSION_UNKNOWN,
                pointer="/workload/engine/version",
                params={"engine": kind, "value": engine.version, "known": [oldest, "…", current]},
                suggestions=(current,),
            )
        )
    if at <= last:
        return ()
    return (notice(NoticeCode.VERSION_NEWER, Severity.CAUTION, engine=kind, version=engine.version, known=current),)


def _order(engine: Any, version: str) -> tuple[int, int]:
    return (int(version[1:]), 0) if isinstance(engine, LlamaCpp) else version_of(version)
