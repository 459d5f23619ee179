"""TensorRT-LLM's log lines. Sources: its _torch/pyexecutor/_util.py and kvCacheManager.cpp (1.0 to 1.2)."""

from __future__ import annotations

import re
from typing import Any

from cardmatch.engine.memory.logs.logged import LogError, Logged, Trouble
from cardmatch.engine.memory.logs.scan import Line, figures, first
from cardmatch.engine.memory.logs.vllm import torch_error
from cardmatch.engine.terms.units import GIB

_N = r"([\d.]*\d)"
MARKS = ("TensorRT-LLM", "TRT-LLM", "tensorrt_llm", "MemUsageChange")
LINES = (
    Line("model_bytes", re.compile(rf"loading model weights \(inside torch\)[^\n]{{0,80}}?: {_N} GiB"), GIB),
    Line("activations_bytes", re.compile(rf"allocated during inference \(inside torch\)[^\n]{{0,60}}?: {_N} GiB"), GIB),
    Line("kv_cache_bytes", re.compile(rf"Allocated {_N} GiB for max tokens"), GIB),
    Line("kv_cache_tokens", re.compile(r"for max tokens (?:in paged KV cache )?\((\d+)\)")),
    Line("tokens_per_block", re.compile(r"Number of tokens per block: (\d+)")),
    Line("tokens_per_block", re.compile(r"tokens per block=(\d+)")),
    Line("blocks", re.compile(r"(?:primary blocks=|KV cache primary pool: |blocks in KV cache primary pool: )(\d+)")),
    Line("max_seq_len_tokens", re.compile(r"max_seq_len=(\d+)")),
    Line("max_batch_size", re.compile(r"max_(?:num_requests|batch_size)=(\d+)")),
    Line("max_num_tokens", re.compile(r"max_num_tokens=(\d+)")),
)
_VERSION = re.compile(r"TensorRT[- ]LLM version:? ?v?(\d+\.\d+[\w.]*)")
_MODEL = re.compile(r"model='([^']{1,200})'")
_FRACTION = re.compile(r"fraction is set ([01]?\.\d+)|free_gpu_memory_fraction=([01]?\.\d+)")
_RANKS = {
    "tensor": re.compile(r"tensor_parallel_size(?:=|': )(\d{1,4})"),
    "pipeline": re.compile(r"pipeline_parallel_size(?:=|': )(\d{1,4})"),
}
_OPTIONS = {"max_seq_len": "max_seq_len_tokens", "max_batch_size": "max_batch_size", "max_num_tokens": "max_num_tokens"}


def read(text: str) -> Logged:
    """The figures, settings and error of a log of TensorRT-LLM."""
    found = figures(text, LINES)
    options: dict[str, Any] = {name: int(found[figure]) for name, figure in _OPTIONS.items() if figure in found}
    fraction = _FRACTION.search(text)
    if fraction:
        options["kv_cache_free_gpu_memory_fraction"] = round(float(fraction[1] or fraction[2]), 4)
    layout = {part: int(ranks) for part, pattern in _RANKS.items() if (ranks := first(text, pattern)) and ranks != "1"}
    return Logged(
        engine="tensorrt_llm",
        version=first(text, _VERSION),
        figures=found,
        options=options,
        layout=layout,
        model=first(text, _MODEL),
        error=error(text),
    )


def error(text: str) -> LogError | None:
    """Why TensorRT-LLM did not start."""
    if "Executor creation failed" in text and "KV cache" in text and "insufficient" in text.lower():
        return LogError(trouble=Trouble.NO_ROOM_FOR_CACHE)
    return torch_error(text)
