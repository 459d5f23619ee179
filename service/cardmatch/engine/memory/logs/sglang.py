"""SGLang's log lines. Sources: sglang 0.5.23 srt/model_executor/model_runner.py, pool_configurator.py,
srt/mem_cache/memory_pool.py, srt/managers/scheduler.py; it writes GB and means 2^30.
"""

from __future__ import annotations

import re
from typing import Any

from cardmatch.engine.memory.logs.logged import LogError, Logged, Trouble
from cardmatch.engine.memory.logs.scan import Line, figures, first, number
from cardmatch.engine.memory.logs.vllm import torch_error
from cardmatch.engine.terms.units import GIB

_N = r"([\d.]*\d)"
MARKS = ("sglang", "mem_fraction_static", "max_total_num_tokens", "Load weight end")
LINES = (
    Line("model_bytes", re.compile(rf"Load weight end\.[^\n]{{0,300}}?mem usage={_N} ?GB"), GIB),
    Line("kv_cache_tokens", re.compile(r"max_total_num_tokens=(\d+)"), 1, min),
    Line(
        "graphs_bytes", re.compile(rf"[Cc]apture [^\n]{{0,40}}?graph end\.[^\n]{{0,120}}?mem usage={_N} ?GB"), GIB, sum
    ),
    Line("chunked_prefill_size", re.compile(r"chunked_prefill_size=(\d+)")),
    Line("max_running_requests", re.compile(r"max_running_requests=(\d+)"), 1, min),
    Line("context_length_tokens", re.compile(r"context_len=(\d+)")),
    Line("state_slots", re.compile(r"max_mamba_cache_size: (\d+)"), 1, min),
)
_CACHE = re.compile(rf"KV Cache is allocated[^\n]{{0,120}}?K size: {_N} ?GB, V size: {_N} ?GB")
_LATENT = re.compile(rf"KV Cache is allocated[^\n]{{0,120}}?KV size: {_N} ?GB")
_STATE = re.compile(rf"conv_state size: {_N} ?GB, ssm_state size: {_N} ?GB")
_VERSION = re.compile(r"sglang(?:==| version:? ?)v?(\d+\.\d+[\w.]*)")
_MODEL = re.compile(r"model_path='([^']{1,200})'")
_NUMBERS = {
    "mem_fraction_static": re.compile(r"mem_fraction_static=([01]?\.\d+)"),
    "context_length": re.compile(r"context_length=(\d+)"),
    "max_total_tokens": re.compile(r"max_total_tokens=(\d+)"),
    "cuda_graph_max_bs": re.compile(r"cuda_graph_max_bs(?:_decode)?=(\d+)"),
    "page_size": re.compile(r"[ (]page_size=(\d+)"),
}
_STARTED_WITH = re.compile(r"ServerArgs\([^\n]*")
_OF_SERVER = {
    "max_running_requests": re.compile(r"max_running_requests=(\d+)"),
    "chunked_prefill_size": re.compile(r"chunked_prefill_size=(\d+)"),
}
_SWITCHES = {
    "disable_cuda_graph": "disable_cuda_graph=True",
    "disable_radix_cache": "disable_radix_cache=True",
    "enable_dp_attention": "enable_dp_attention=True",
}
_RANKS = {"tensor": re.compile(r"[ (]tp_size=(\d{1,4})"), "pipeline": re.compile(r"[ (]pp_size=(\d{1,4})")}
_DATA = re.compile(r"[ (]dp_size=(\d{1,4})")
_KV = re.compile(r"kv_cache_dtype='(\w+)'")


def read(text: str) -> Logged:
    """The figures, settings and error of a log of SGLang."""
    found = figures(text, LINES)
    for pattern, name in ((_CACHE, "kv_cache_bytes"), (_LATENT, "kv_cache_bytes"), (_STATE, "state_bytes")):
        sums = [sum(number(group) for group in match.groups()) * GIB for match in pattern.finditer(text)]
        if sums:
            found.setdefault(name, min(sums))
    options: dict[str, Any] = {}
    started = _STARTED_WITH.search(text)
    for patterns, where in ((_NUMBERS, text), (_OF_SERVER, started[0] if started else "")):
        for name, pattern in patterns.items():
            if written := first(where, pattern):
                options[name] = float(written) if "." in written else int(written)
    options.update({name: True for name, mark in _SWITCHES.items() if mark in text})
    layout = {part: int(ranks) for part, pattern in _RANKS.items() if (ranks := first(text, pattern)) and ranks != "1"}
    data = first(text, _DATA)
    if data and data != "1":
        if options.get("enable_dp_attention"):
            options["dp_size"] = int(data)
        else:
            layout["data"] = int(data)
    return Logged(
        engine="sglang",
        version=first(text, _VERSION),
        figures=found,
        options=options,
        layout=layout,
        kv_cache=first(text, _KV),
        model=first(text, _MODEL),
        error=error(text),
    )


def error(text: str) -> LogError | None:
    """Why SGLang did not start."""
    if "Not enough memory. Please try to increase --mem-fraction-static" in text:
        return LogError(trouble=Trouble.NO_ROOM_FOR_CACHE)
    return torch_error(text)
