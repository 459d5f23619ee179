"""What Ollama is told: environment variables, PARAMETER lines of a Modelfile, `/set parameter`.

Source: ollama v0.32.15 envconfig/config.go, api/types.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cardmatch.engine.memory.arguments.found import Found, wrong_value
from cardmatch.engine.memory.arguments.table import Table, words
from cardmatch.engine.memory.arguments.values import integer, switch, text
from cardmatch.engine.memory.arguments.weights import note_model
from cardmatch.engine.models.kv_formats import KvFormat

_PARAMETER = re.compile(r"(?im)^\s*(?:/set\s+)?parameter\s+(\w+)\s+(\S+)")
_KV_FORMATS = {"f16": KvFormat.FP16, "q8_0": KvFormat.Q8_0, "q4_0": KvFormat.Q4_0, "": KvFormat.FP16}
_VARIABLES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "OLLAMA_CONTEXT_LENGTH": ("num_ctx", integer),
    "OLLAMA_NUM_PARALLEL": ("num_parallel", integer),
    "OLLAMA_GPU_OVERHEAD": ("gpu_overhead_bytes", integer),
}
_PARAMETERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "num_ctx": ("num_ctx", integer),
    "num_batch": ("num_batch", integer),
    "num_gpu": ("num_gpu", integer),
    "draft_num_predict": ("draft_tokens", integer),
}
_FLAGS = words(
    """
    --verbose --keepalive --nowordwrap --format --insecure --think --hidethinking --truncate --dimensions --help
    --version --quantize --file -f -v -h
    """
)


def _named(found: Found, word: str) -> None:
    """The model of `ollama run MODEL`, or of a Modelfile's FROM."""
    if word.upper() != "FROM":
        note_model(found, word)


TABLE = Table(engine="ollama", effective={}, without_effect=_FLAGS, positional=_named)


def finish(found: Found, environment: dict[str, str]) -> None:
    """Read the environment; other variables of Ollama's own change no memory."""
    for name, value in environment.items():
        if name in _VARIABLES:
            _set(found, _VARIABLES[name], name, value)
        elif name == "OLLAMA_FLASH_ATTENTION":
            _set(found, ("flash_attention", _flash), name, value)
        elif name == "OLLAMA_KV_CACHE_TYPE":
            if value not in _KV_FORMATS:
                raise wrong_value(name, value)
            found.workload["kv_cache"] = _KV_FORMATS[value]
        elif name.startswith("OLLAMA_"):
            found.without_effect.append(name)


def modelfile(found: Found, lines: str) -> str:
    """Read `PARAMETER name value` lines, and return the rest of *lines*."""
    for name, value in _PARAMETER.findall(lines):
        if name in _PARAMETERS:
            _set(found, _PARAMETERS[name], name, value)
        else:
            found.without_effect.append(name)
    return _PARAMETER.sub("", lines)


def _set(found: Found, to: tuple[str, Callable[[str], Any]], name: str, value: str) -> None:
    field, read = to
    try:
        found.options[field] = read(value)
    except ValueError:
        raise wrong_value(name, value) from None
    if field == "num_gpu" and found.options[field] < 0:
        del found.options[field]
    found.origin[field] = (name, value)


def _flash(value: str) -> str:
    return "on" if switch(text(value)) else "off"
