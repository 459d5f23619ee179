"""A row of serving_memory as the request that its author could have made."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.vllm.compressed import is_compressed
from cardmatch.engine.memory.engines.vllm.options import CURRENT_VERSION, Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.speculation import Speculative, SpeculativeMethod
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case, Skipped
from tests.truth.world import TruthWorld

_UNKNOWN_DEVICE = Device(
    card=None, physical_bytes=80 * GIB, memory_bytes=80 * GIB, memory_low_bytes=80 * GIB, memory_high_bytes=80 * GIB
)
"""Stands in where a row names no card: only figures that do not depend on it are compared."""

_KV = {None: KvFormat.AUTO, "fp8": KvFormat.FP8_E4M3, "fp16": KvFormat.FP16, "float16": KvFormat.FP16}
_MONTHS = {"2026-05": "0.20.2", "2026-07": "0.25.0", "2026-08": "0.26.0", "2026-09": "0.28.0"}
"""vLLM's releases of the months that rows give instead of a version."""

_ERAS = {"v0": "0.6.0", "v1": CURRENT_VERSION}


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A row as a request; `known_device` and `known_weights` say what its figures may be compared with."""

    case: Case
    job: ServingJob
    engine: AnyEngine
    placement: Placement
    known_device: bool
    known_weights: bool


def prepare(case: Case, world: TruthWorld) -> Prepared:
    """The request of *case*. Raises Skipped with the reason."""
    setup = case.setup
    model = world.model(case.model)
    device = world.device(setup["card"], setup["device_memory_gib"])
    engine, layout = _engine(setup, model.architecture.maximum_context_tokens or 8192), _layout(setup)
    checkpoint = case.model.checkpoint or "as_published"
    workload = Inference(
        engine=engine,
        kv_cache=_kv_format(setup["kv_cache_dtype"]),
        context_tokens=setup["max_model_len"] or model.architecture.maximum_context_tokens,
        concurrency=1,
        weights="as_published" if checkpoint == "mixed" else checkpoint,
        speculative=_speculative(setup["speculative"]),
    )
    try:
        job, _ = settle(workload, model.architecture, model.checkpoint)
    except Invalid as invalid:
        raise Skipped(f"request refused: {invalid}") from None
    if _leans_on_batch(job, setup):
        raise Skipped("max_num_batched_tokens not stated, and it decides most of what a request needs")
    placement = Placement(device=device or _UNKNOWN_DEVICE, count=layout.gpus, layout=layout)
    return Prepared(
        case=case,
        job=job,
        engine=engine,
        placement=placement,
        known_device=device is not None and bool(setup["count"]),
        known_weights=checkpoint != "mixed",
    )


def _leans_on_batch(job: ServingJob, setup: dict[str, Any]) -> bool:
    """Compressed attention keeps fp32 states for all tokens in flight: they outweigh everything that it compresses."""
    return setup["max_num_batched_tokens"] is None and is_compressed(job.cache_rows)


def _layout(setup: dict[str, Any]) -> Layout:
    data = setup["data_parallel"] or 1
    inside = setup["engine"] == "sglang"
    return Layout(
        tensor=setup["tensor_parallel"] or 1,
        pipeline=setup["pipeline_parallel"] or 1,
        data=1 if inside else data,
        expert=1 if inside else data,
        decode_context=setup["decode_context_parallel"] or 1,
    )


def _kv_format(name: str | None) -> KvFormat:
    if name in _KV:
        return _KV[name]
    try:
        return KvFormat(str(name))
    except ValueError:
        raise Skipped("cache format not modelled") from None


def _speculative(asked: dict[str, Any] | None) -> Speculative | None:
    """Without a number of drafted tokens a row leaves recurrent states open, but not weights and keys."""
    if asked is None:
        return None
    try:
        method = SpeculativeMethod(asked["method"])
    except ValueError:
        raise Skipped("drafter not described") from None
    return Speculative(method=method, tokens=asked["tokens"] or 1)


def _version(setup: dict[str, Any]) -> str:
    """The version of a row, or the first one of the time that it gives; the era's where it gives none."""
    stated = setup["version"] or setup["version_approx"]
    if stated is None:
        return _ERAS.get(setup["era"] or "v1", CURRENT_VERSION)
    month = re.match(r"\d{4}-\d{2}", stated)
    if month is not None:
        return _MONTHS.get(month.group(0), CURRENT_VERSION)
    decade = re.match(r"0\.(\d)x", stated)
    if decade is not None and setup["era"] == "v1":
        return f"0.{decade.group(1)}5.0"
    numbers = re.match(r"(\d+)\.(\d+)", stated)
    return f"{numbers.group(1)}.{numbers.group(2)}.0" if numbers else CURRENT_VERSION


def _engine(setup: dict[str, Any], limit: int) -> AnyEngine:
    longest = setup["max_model_len"] or limit
    if setup["engine"] == "vllm":
        return _vllm(setup, longest)
    if setup["engine"] == "sglang":
        copies = setup["data_parallel"] or 1
        return Sglang(
            mem_fraction_static=setup["gpu_memory_utilization"],
            context_length=longest,
            chunked_prefill_size=setup["max_num_batched_tokens"],
            max_running_requests=setup["max_num_seqs"],
            disable_cuda_graph=bool(setup["enforce_eager"]),
            enable_dp_attention=copies > 1,
            dp_size=copies,
        )
    if setup["engine"] == "tensorrt_llm":
        return TensorrtLlm(
            kv_cache_free_gpu_memory_fraction=setup["gpu_memory_utilization"] or 0.9,
            max_num_tokens=setup["max_num_batched_tokens"] or 8192,
            max_batch_size=setup["max_num_seqs"] or 512,
            max_seq_len=longest,
            tokens_per_block=setup["block_size"],
        )
    raise Skipped("engine not modelled")


def _vllm(setup: dict[str, Any], longest: int) -> Vllm:
    """Hybrids print a block that vLLM chose itself; as an option it would be rounded again."""
    block = setup["block_size"]
    return Vllm(
        version=_version(setup),
        gpu_memory_utilization=setup["gpu_memory_utilization"],
        max_model_len=longest,
        max_num_seqs=setup["max_num_seqs"],
        max_num_batched_tokens=setup["max_num_batched_tokens"],
        block_size=block if block in {8, 16, 32, 64, 128, 256} else None,
        enforce_eager=bool(setup["enforce_eager"]),
        language_model_only=bool(setup["language_model_only"]),
        cpu_offload_gb=setup["cpu_offload_gib"] or 0.0,
    )
