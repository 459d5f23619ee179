"""A log of any engine."""

from __future__ import annotations

import re
from collections.abc import Callable

from cardmatch.engine.memory.logs import llama_cpp, sglang, tensorrt_llm, vllm
from cardmatch.engine.memory.logs.logged import Logged
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_READERS: dict[str, tuple[tuple[str, ...], Callable[[str], Logged]]] = {
    "llama_cpp": (llama_cpp.MARKS, llama_cpp.read),
    "vllm": (vllm.MARKS, vllm.read),
    "sglang": (sglang.MARKS, sglang.read),
    "tensorrt_llm": (tensorrt_llm.MARKS, tensorrt_llm.read),
}
_BLANK = re.compile(r"\n\s+\n|\n{2,}")
_AT_THE_START, _AT_THE_END = 64_000, 24_000
"""Characters of a long log that are read: engines print what they reserve when they start, and errors last."""


def read_log(text: str, engine: str | None = None, pointer: str = "/workload/engine_log") -> Logged:
    """What *text* says, by the engine whose words it uses most and that finds a figure in it; of equals, by *engine*.

    Raises Invalid at *pointer* where it is no log.
    """
    text = _ends(text)
    uses = {name: sum(text.count(mark) for mark in marks) for name, (marks, _) in _READERS.items()}
    for name in sorted(_READERS, key=lambda name: (-uses[name], name != engine)):
        logged = _READERS[name][1](text)
        if logged.figures or logged.error is not None:
            return logged
    raise Invalid(Fault(code=FaultCode.LOG_NOT_READ, pointer=pointer))


def _ends(text: str) -> str:
    """The start and the end of *text*, cut at lines where it has any."""
    if len(text) <= _AT_THE_START + _AT_THE_END:
        return text
    start, end = (_BLANK.sub("\n", part) for part in (text[:_AT_THE_START], text[-_AT_THE_END:]))
    return start.rpartition("\n")[0] + "\n" + end.partition("\n")[2] if "\n" in start and "\n" in end else start + end
