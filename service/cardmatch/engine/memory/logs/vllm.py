"""VLLM's log lines. Sources: vllm v0.33.0 v1/worker/gpu_worker.py, gpu_model_runner.py, utils.py,
v1/core/kv_cache_utils.py and kv_cache_planning.py; V0's worker.py for what older versions print.
"""

from __future__ import annotations

import re
from typing import Any

from cardmatch.engine.memory.logs.logged import LogError, Logged, Trouble
from cardmatch.engine.memory.logs.scan import Line, figures, first, number, size
from cardmatch.engine.terms.units import GIB

_N = r"([\d.,]*\d)"
MARKS = ("vllm", "EngineCore", "LLM engine (v", "KV cache is needed", "Model loading took", "gpu_memory_utilization")
LINES = (
    Line("model_bytes", re.compile(rf"[Mm]odel loading took {_N} ?Gi?B"), GIB),
    Line("model_bytes", re.compile(rf"Loading model weights took {_N} ?GB"), GIB),
    Line("model_bytes", re.compile(rf"model weights take {_N} ?GiB"), GIB),
    Line("kv_cache_bytes", re.compile(rf"Available KV cache memory: {_N} ?GiB"), GIB, min),
    Line("kv_cache_bytes", re.compile(rf"memory reserved for KV Cache is {_N} ?GiB"), GIB, min),
    Line("kv_cache_tokens", re.compile(rf"KV cache size: {_N} tokens"), 1, min),
    Line("max_concurrency_at_max_length", re.compile(rf"Maximum concurrency for [\d,]+ tokens per request: {_N}x")),
    Line("max_model_len_tokens", re.compile(rf"Maximum concurrency for {_N} tokens per request")),
    Line("blocks", re.compile(r"# (?:GPU|CUDA|cuda) blocks: (\d+)"), 1, min),
    Line("graphs_bytes", re.compile(rf"Graph capturing finished in [\d.]+ secs?\.?,? took {_N} ?GiB"), GIB),
    Line("activations_bytes", re.compile(rf"PyTorch activation peak memory takes {_N} ?GiB"), GIB),
    Line("non_torch_bytes", re.compile(rf"non_torch_memory takes {_N} ?GiB"), GIB),
)
_VERSION = re.compile(r"(?:LLM engine \(v|API server version:? v?|vLLM version:? v?)(\d+\.\d+[\w.+]*)")
_MODEL = re.compile(r"(?:config: model=|'model(?:_tag)?': )'([^']{1,200})'")
_CONFIG = {
    "max_model_len": re.compile(r"max_seq_len=(\d+)|'max_model_len': (\d+)"),
    "max_num_seqs": re.compile(r"'max_num_seqs': (\d+)|max_num_seqs=(\d+)"),
    "max_num_batched_tokens": re.compile(r"max_num_batched_tokens[=:'] ?'?:? ?(\d+)"),
    "gpu_memory_utilization": re.compile(
        r"gpu_memory_utilization(?:=|': | ?\()([01]?\.\d+)|desired GPU memory utilization \(([01]?\.\d+),"
    ),
    "block_size": re.compile(r"'block_size': (\d+)"),
}
_RANKS = {
    "tensor": re.compile(r"tensor_parallel_size(?:=|': )(\d{1,4})"),
    "pipeline": re.compile(r"pipeline_parallel_size(?:=|': )(\d{1,4})"),
    "data": re.compile(r"data_parallel_size(?:=|': )(\d{1,4})"),
}
_EAGER = re.compile(r"enforce_eager(?:=|': )True")
_KV = re.compile(r"kv_cache_dtype(?:=|': ')(\w+)")
_BELOW_LENGTH = re.compile(rf"\({_N} GiB KV cache is needed[^()]{{0,120}}\({_N} GiB\)")
_FITTING = re.compile(r"estimated maximum model length is (\d+)")
_V0_LENGTH = re.compile(r"max seq len \((\d+)\) is larger than the maximum number of tokens[^()]{0,80}\((\d+)\)")
_OTHERS = re.compile(rf"Free memory on device[^(]{{0,40}}\({_N}/{_N} GiB\) on startup is less than desired GPU memory")
_DESIRED = re.compile(rf"desired GPU memory utilization \([\d.]+, {_N} GiB\)")
TORCH = re.compile(
    rf"Tried to allocate {_N} ([KMG]i?B)\. GPU \d+ has a total capacity of {_N} ([KMG]i?B)"
    rf" of which {_N} ([KMG]i?B) is free"
)
"""PyTorch's own error, whichever engine runs on it."""


def read(text: str) -> Logged:
    """The figures, settings and error of a log of vLLM."""
    options: dict[str, Any] = {}
    for name, pattern in _CONFIG.items():
        match = pattern.search(text)
        if match:
            options[name] = number(next(group for group in match.groups() if group))
            if name != "gpu_memory_utilization":
                options[name] = int(options[name])
    if _EAGER.search(text):
        options["enforce_eager"] = True
    layout = {part: int(found) for part, pattern in _RANKS.items() if (found := first(text, pattern))}
    return Logged(
        engine="vllm",
        version=first(text, _VERSION),
        figures=figures(text, LINES),
        options=options,
        layout={part: ranks for part, ranks in layout.items() if ranks > 1},
        kv_cache=first(text, _KV),
        model=first(text, _MODEL),
        error=error(text),
    )


def error(text: str) -> LogError | None:
    """Why vLLM did not start."""
    if match := _BELOW_LENGTH.search(text):
        fitting = first(text, _FITTING)
        return LogError(
            trouble=Trouble.CACHE_BELOW_LENGTH,
            needed_bytes=size(match[1], "GiB"),
            available_bytes=size(match[2], "GiB"),
            fitting_tokens=int(fitting) if fitting else None,
        )
    if match := _V0_LENGTH.search(text):
        return LogError(trouble=Trouble.CACHE_BELOW_LENGTH, fitting_tokens=int(match[2]))
    if match := _OTHERS.search(text):
        desired = first(text, _DESIRED)
        return LogError(
            trouble=Trouble.MEMORY_HELD_BY_OTHERS,
            needed_bytes=size(desired, "GiB") if desired else None,
            available_bytes=size(match[1], "GiB"),
            total_bytes=size(match[2], "GiB"),
        )
    if "No available memory for the cache blocks" in text:
        return LogError(trouble=Trouble.NO_ROOM_FOR_CACHE)
    return torch_error(text)


def torch_error(text: str) -> LogError | None:
    """PyTorch's out-of-memory error."""
    if match := TORCH.search(text):
        return LogError(
            trouble=Trouble.OUT_OF_MEMORY,
            needed_bytes=size(match[1], match[2]),
            total_bytes=size(match[3], match[4]),
            available_bytes=size(match[5], match[6]),
        )
    return LogError(trouble=Trouble.OUT_OF_MEMORY) if "CUDA out of memory" in text else None
