"""A log of any engine."""

from __future__ import annotations

from collections.abc import Callable

from cardmatch.engine.memory.logs import llama_cpp, sglang, tensorrt_llm, vllm
from cardmatch.engine.memory.logs.logged import Logged
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Logged]], ...] = (
    (llama_cpp.MARKS, llama_cpp.read),
    (sglang.MARKS, sglang.read),
    (tensorrt_llm.MARKS, tensorrt_llm.read),
    (vllm.MARKS, vllm.read),
)


def read_log(text: str, pointer: str = "/workload/engine_log") -> Logged:
    """What *text* says, by the engine whose words it uses most and that finds a figure in it.

    Raises Invalid at *pointer* where it is no log.
    """
    likely = sorted(_READERS, key=lambda reader: -sum(text.count(mark) for mark in reader[0]))
    for _, reader in likely:
        logged = reader(text)
        if logged.figures or logged.error is not None:
            return logged
    raise Invalid(Fault(code=FaultCode.LOG_NOT_READ, pointer=pointer))
