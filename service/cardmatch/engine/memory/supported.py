"""Which number formats each engine loads and keeps its cache in, and what it then needs of a card."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.memory.placement import Device
from cardmatch.engine.models.cache import CacheKind, CacheRow
from cardmatch.engine.models.formats import FORMATS
from cardmatch.engine.models.kv_formats import KvCache, KvFormat, KvFormats
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

GGUF = "gguf"
"""Stands for every `gguf:` type."""
_PLAIN = ("bf16", "fp16", "fp32")
_HALVES = (KvFormat.BF16, KvFormat.FP16)
_FLOATS8 = (KvFormat.FP8_E4M3, KvFormat.FP8_E5M2)


class Supported(msgspec.Struct, frozen=True, kw_only=True):
    """The formats of one engine, the usual ones first; `split_cache` lets keys and values differ."""

    weights: tuple[str, ...]
    cache: tuple[KvFormat, ...]
    split_cache: bool = False
    source: str


_GGML = Supported(
    weights=("gguf", "mxfp4", *_PLAIN),
    cache=(
        *(KvFormat.Q8_0, KvFormat.Q4_0, KvFormat.FP16, KvFormat.BF16, KvFormat.FP32),
        *(KvFormat.Q5_1, KvFormat.Q5_0, KvFormat.Q4_1, KvFormat.IQ4_NL),
    ),
    split_cache=True,
    source="llama.cpp b11501 ggml/include/ggml.h and common/arg.cpp kv_cache_types; MXFP4 is a type of GGUF files",
)
SUPPORTED: dict[str, Supported] = {
    "vllm": Supported(
        weights=(
            *("fp8", "awq_int4", "gptq_int4", "w4a16", "int8", "fp8_block", "nvfp4", "mxfp4", "mxfp8", "gptq_int8"),
            *("nf4", "nf4_dq", *_PLAIN, GGUF),
        ),
        cache=(*_FLOATS8, *_HALVES, KvFormat.NVFP4, KvFormat.INT8, KvFormat.FP8_DS_MLA),
        source="vllm v0.33.0 model_executor/layers/quantization/__init__.py and config/cache.py CacheDType",
    ),
    "sglang": Supported(
        weights=(
            *("fp8", "awq_int4", "gptq_int4", "w4a16", "int8", "fp8_block", "nvfp4", "mxfp4", "mxfp8", "gptq_int8"),
            *("nf4", "nf4_dq", *_PLAIN, GGUF),
        ),
        cache=(*_FLOATS8, *_HALVES, KvFormat.NVFP4, KvFormat.FP8_DS_MLA),
        source="sglang 0.5.23 srt/server_args.py QUANTIZATION_CHOICES and --kv-cache-dtype",
    ),
    "tensorrt_llm": Supported(
        weights=("fp8", "nvfp4", "awq_int4", "gptq_int4", "w4a16", "int8", "fp8_block", "mxfp4", "mxfp8", *_PLAIN),
        cache=(KvFormat.FP8_E4M3, KvFormat.NVFP4, KvFormat.INT8, *_HALVES),
        source="TensorRT-LLM 1.2 quantization/mode.py QuantAlgo",
    ),
    "llama_cpp": _GGML,
    "lm_studio": _GGML,
    "ollama": Supported(
        weights=_GGML.weights,
        cache=(KvFormat.Q8_0, KvFormat.Q4_0, KvFormat.FP16),
        source="Ollama docs/faq.md, OLLAMA_KV_CACHE_TYPE",
    ),
    "transformers": Supported(
        weights=(
            *("int8", "nf4", "nf4_dq", "awq_int4", "gptq_int4", "gptq_int8", "w4a16", "fp8", "fp8_block", "mxfp4"),
            *("nvfp4", *_PLAIN),
        ),
        cache=(*_HALVES, KvFormat.FP32),
        source="Transformers 5 quantizers/auto.py; a GGUF file is unpacked to 32 bits while it is loaded",
    ),
}

REFUSED_BELOW: dict[tuple[str, str], tuple[int, int]] = {
    ("vllm", "nvfp4"): (10, 0),
    ("sglang", "nvfp4"): (10, 0),
    ("tensorrt_llm", "nvfp4"): (10, 0),
    ("tensorrt_llm", "fp8_e4m3"): (8, 9),
}
"""Compute capability below which an engine refuses a format of the cache: only Blackwell's kernels read NVFP4 pages
(vllm v0.33.0 v1/attention/backends/flashinfer.py), TensorRT-LLM's support matrix has FP8 from Ada on.
"""


def takes_weights(engine: Any, name: str) -> bool:
    """Whether *engine* loads weights in format *name*; of what has no single name nothing is known."""
    known = SUPPORTED[engine.__struct_config__.tag].weights
    return name in known or (name not in FORMATS and not name.startswith("gguf:")) or _family(name) in known


def takes_cache(engine: Any, name: KvFormat) -> bool:
    """Whether *engine* keeps its cache in format *name*."""
    return name is KvFormat.AUTO or name in SUPPORTED[engine.__struct_config__.tag].cache


def check_formats(engine: Any, weights: str, cache: KvCache, rows: tuple[CacheRow, ...]) -> None:
    """Refuse formats that *engine* does not have. Raises Invalid at /workload/weights or /workload/kv_cache."""
    kind = str(engine.__struct_config__.tag)
    known = SUPPORTED[kind]
    if not takes_weights(engine, weights):
        usual = ("gguf:Q4_K_M", "gguf:Q8_0") if known.weights[0] == GGUF else known.weights[:4]
        raise _refused(FaultCode.NOT_WITH_ENGINE, "weights", usual, engine=kind, value=weights)
    if isinstance(cache, KvFormats) and cache.k is not cache.v and not known.split_cache:
        value = f"{cache.k.value} / {cache.v.value}"
        raise _refused(FaultCode.NOT_WITH_ENGINE, "kv_cache", _usual(kind), engine=kind, value=value)
    for side in (cache.k, cache.v) if isinstance(cache, KvFormats) else (cache,):
        if not takes_cache(engine, side):
            raise _refused(FaultCode.NOT_WITH_ENGINE, "kv_cache", _usual(kind), engine=kind, value=side.value)
        if side is KvFormat.FP8_DS_MLA and all(row.kind is not CacheKind.MLA for row in rows):
            raise _refused(FaultCode.NOT_WITH_MODEL, "kv_cache", _usual(kind), value=side.value)


def keeps_cache(engine: Any, cache: KvCache, device: Device) -> bool:
    """Whether *engine* can keep *cache* on *device*; of a device whose capability is not known it is taken to."""
    since, capability = _needed(engine, cache), capability_of(device)
    return since is None or capability is None or capability >= since


def _needed(engine: Any, cache: KvCache) -> tuple[int, int] | None:
    kind = str(engine.__struct_config__.tag)
    return REFUSED_BELOW.get((kind, cache.value)) if isinstance(cache, KvFormat) else None


def check_card(engine: Any, cache: KvCache, device: Device) -> None:
    """Refuse a cache that *engine* cannot keep on *device*. Raises Invalid at /workload/kv_cache."""
    since = _needed(engine, cache)
    if since is None or keeps_cache(engine, cache, device):
        return
    kind = str(engine.__struct_config__.tag)
    others = tuple(each for each in _usual(kind) if (kind, each) not in REFUSED_BELOW)
    needed = f"{since[0]}.{since[1]}"
    named = {"engine": kind, "value": str(cache), "card": device.card or "—", "needed": needed}
    raise _refused(FaultCode.NOT_WITH_CARD, "kv_cache", others, **named)


def _usual(kind: str) -> tuple[str, ...]:
    return tuple(each.value for each in SUPPORTED[kind].cache[:4])


def _refused(code: FaultCode, field: str, suggestions: tuple[str, ...], **params: str) -> Invalid:
    return Invalid(Fault(code=code, pointer=f"/workload/{field}", params={**params}, suggestions=suggestions))


def capability_of(device: Device) -> tuple[int, int] | None:
    """Compute capability of a device; None where it is not known or has none."""
    major, _, minor = (device.compute_capability or "").partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _family(name: str) -> str:
    return GGUF if name.startswith("gguf:") else name
