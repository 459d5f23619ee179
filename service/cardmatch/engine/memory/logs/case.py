"""A log as a truth row: what was set and what was measured, under the names of the truth cases' schema."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.memory.logs.logged import Logged, Trouble
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.units import GIB, MIB

_REFUSED = {Trouble.CACHE_BELOW_LENGTH, Trouble.NO_ROOM_FOR_CACHE, Trouble.MEMORY_HELD_BY_OTHERS}
_GGML = {KvFormat.FP16: "f16", KvFormat.FP32: "f32"}


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a log does not say of itself: an id for the row, where it was published, which model and card it is of."""

    id: str
    source: str
    model: str | None = None
    checkpoint: str | None = None
    card: str | None = None
    count: int | None = None


def truth_row(logged: Logged, origin: Origin) -> dict[str, Any]:
    """The row of *logged*; what was not stated is null."""
    llama = logged.engine in {"llama_cpp", "ollama"}
    error = logged.error
    outcome = "ran" if error is None else "refused" if error.trouble in _REFUSED else "oom"
    return {
        "id": origin.id,
        "source": origin.source,
        "family": "llamacpp_memory" if llama else "serving_memory",
        "exclude": None,
        "model": {
            "ref": origin.model,
            "config": None,
            "checkpoint": origin.checkpoint or logged.weights,
            "file_gib": None,
            "parameters": None,
            "note": logged.model,
        },
        "setup": (_llama_setup if llama else _serving_setup)(logged, origin),
        "measured": (_llama_measured if llama else _serving_measured)(logged),
        "outcome": outcome,
        "note": "",
    }


def _serving_setup(logged: Logged, origin: Origin) -> dict[str, Any]:
    options, error = logged.options, logged.error
    total = error.total_bytes if error else None
    return {
        "engine": logged.engine,
        "version": logged.version,
        "version_approx": None,
        "era": None if logged.engine != "vllm" else "v0" if "blocks" in logged.figures else "v1",
        "card": origin.card,
        "card_text": logged.card,
        "device_memory_gib": round(total / GIB, 2) if total else None,
        "count": origin.count,
        "tensor_parallel": logged.layout.get("tensor", 1),
        "pipeline_parallel": logged.layout.get("pipeline", 1),
        "data_parallel": logged.layout.get("data", options.get("dp_size", 1)),
        "decode_context_parallel": None,
        "max_model_len": options.get("max_model_len", options.get("context_length", options.get("max_seq_len"))),
        "max_num_seqs": options.get("max_num_seqs", options.get("max_running_requests", options.get("max_batch_size"))),
        "max_num_batched_tokens": options.get("max_num_batched_tokens", options.get("max_num_tokens")),
        "gpu_memory_utilization": options.get("gpu_memory_utilization", options.get("mem_fraction_static")),
        "kv_cache_dtype": logged.kv_cache,
        "block_size": options.get("block_size"),
        "enforce_eager": options.get("enforce_eager"),
        "speculative": None,
        "language_model_only": None,
        "cpu_offload_gib": None,
    }


def _serving_measured(logged: Logged) -> dict[str, Any]:
    figures, error = logged.figures, logged.error
    needed = error.needed_bytes if error and error.trouble is Trouble.CACHE_BELOW_LENGTH else None
    pool = figures.get("kv_cache_bytes")
    if pool is None and error and error.trouble is Trouble.CACHE_BELOW_LENGTH:
        pool = error.available_bytes
    return {
        "weights_gib_per_gpu": _in(GIB, figures.get("model_bytes")),
        "kv_pool_gib_per_gpu": _in(GIB, pool),
        "kv_pool_tokens": figures.get("kv_cache_tokens"),
        "kv_gib_for_max_len": _in(GIB, needed),
        "activation_peak_gib": _in(GIB, figures.get("activations_bytes")),
        "non_torch_gib": _in(GIB, figures.get("non_torch_bytes")),
        "cuda_graph_gib": _in(GIB, figures.get("graphs_bytes")),
        "max_concurrency_at_max_len": figures.get("max_concurrency_at_max_length"),
    }


def _llama_setup(logged: Logged, origin: Origin) -> dict[str, Any]:
    options, kv_cache = logged.options, logged.kv_cache
    formats = kv_cache if isinstance(kv_cache, KvFormats) else None
    keys, values = (formats.k, formats.v) if formats else (kv_cache, kv_cache)
    flash, fork = options.get("flash_attention"), options.get("variant")
    return {
        "engine": fork or logged.engine,
        "build": logged.version,
        "build_date": None,
        "card": origin.card,
        "card_text": logged.card,
        "count": origin.count or _gpus(logged) or None,
        **{name: options.get(name) for name in ("n_ctx", "n_batch", "n_ubatch", "n_parallel", "kv_unified")},
        "n_ctx_inferred": None,
        "swa_full": None,
        "flash_attention": None if flash is None else flash == "on",
        "cache_type_k": _ggml(keys),
        "cache_type_v": _ggml(values),
        "n_gpu_layers": logged.figures.get("gpu_layers"),
        "n_layers_total": logged.figures.get("total_layers"),
        "experts_on_host": None,
        "mla_era": None,
        "speculative": None,
        "mmproj": None,
        "pipeline_copies": None,
        "limited_outputs": None,
    }


def _llama_measured(logged: Logged) -> dict[str, Any]:
    figures = logged.figures
    compute = _devices(logged, "compute_bytes")
    on_gpu = _devices(logged, "kv_cache_bytes")
    kv = [*on_gpu, *([figures["host_kv_cache_bytes"]] if "host_kv_cache_bytes" in figures else [])]
    return {
        "gpu_model_mib": _in(MIB, sum(_devices(logged, "model_bytes"))),
        "host_model_mib": _in(MIB, figures.get("host_model_bytes")),
        "kv_mib": _in(MIB, sum(kv)),
        "kv_swa_mib": _in(MIB, sum(_devices(logged, "kv_cache_sliding_bytes"))),
        "kv_on_gpu_mib": _in(MIB, sum(on_gpu)),
        "recurrent_state_mib": _in(MIB, sum(_devices(logged, "recurrent_state_bytes"))),
        "compute_mib": _in(MIB, max(compute, default=None)),
        "compute_per_gpu_mib": [_in(MIB, each) for each in compute] if len(compute) > 1 else None,
        "host_compute_mib": _in(MIB, figures.get("host_compute_bytes")),
        "cuda_context_mib": None,
        "total_used_mib": None,
    }


def _devices(logged: Logged, figure: str) -> list[float]:
    names = (f"devices/{index}/{figure}" for index in range(_gpus(logged)))
    return [logged.figures[name] for name in names if name in logged.figures]


def _gpus(logged: Logged) -> int:
    return len({name.split("/")[1] for name in logged.figures if name.startswith("devices/")})


def _ggml(name: Any) -> str | None:
    return _GGML.get(name, name.value) if isinstance(name, KvFormat) else None


def _in(unit: int, size: float | None) -> float | None:
    return round(size / unit, 4) if size else None
