"""The command for any engine."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from cardmatch.engine.memory.commands import llama_cpp, sglang, tensorrt_llm, vllm
from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.options import Vllm

_WRITERS: dict[type, Callable[[Subject], list[str]]] = {
    Vllm: vllm.command,
    Sglang: sglang.command,
    TensorrtLlm: tensorrt_llm.command,
    LlamaCpp: llama_cpp.command,
    Ollama: llama_cpp.ollama_command,
    LmStudio: llama_cpp.lm_studio_command,
}


def written(subject: Subject) -> str | None:
    """The command that starts the engine of *subject* with the length that its verdict assumed.

    Null for Transformers, which is a library.
    """
    writer = _WRITERS.get(type(subject.engine))
    return None if writer is None else _joined(writer(subject))


def _joined(words: list[str]) -> str:
    return " ".join([word if _is_plain(word) else shlex.quote(word) for word in words])


def _is_plain(word: str) -> bool:
    """Whether a shell takes *word* as it is; most are, and quoting costs more than this."""
    return word.replace("-", "").replace("_", "").replace(".", "").replace("/", "").replace("=", "").isalnum()
