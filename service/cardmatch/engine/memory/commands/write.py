"""The command for any engine."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

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

_ONLINE: dict[type, Mapping[str, tuple[str, ...]]] = {Vllm: vllm.ONLINE, Sglang: sglang.ONLINE, TensorrtLlm: {}}


def written(subject: Subject) -> str | None:
    """The command that starts the engine of *subject* with the length that its verdict assumed.

    Null for Transformers, which is a library, and where a checkpoint is needed whose name nobody has said.
    """
    writer = _WRITERS.get(type(subject.engine))
    return None if writer is None or checkpoint_needed(subject) else _joined(writer(subject))


def checkpoint_needed(subject: Subject) -> bool:
    """Whether the engine of *subject* would need weights in a format that it does not make and nobody has named.

    llama.cpp and its kin run files that users make or fetch themselves, so there the file says its format.
    """
    online = _ONLINE.get(type(subject.engine))
    return online is not None and subject.recast(online) is None


def _joined(words: list[str]) -> str:
    return " ".join([word if _is_plain(word) else shlex.quote(word) for word in words])


def _is_plain(word: str) -> bool:
    """Whether a shell takes *word* as it is; most are, and quoting costs more than this."""
    return word.replace("-", "").replace("_", "").replace(".", "").replace("/", "").replace("=", "").isalnum()
