"""The constants of serving engines from truth rows as requests (case, job, engine, placement, known_device)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from cardmatch.engine.memory.calibration import (
    Fitted,
    MemoryCalibration,
    SglangCalibration,
    TensorrtLlmCalibration,
    TransformersCalibration,
)
from cardmatch.engine.memory.engines.registry import reserve
from cardmatch.engine.memory.engines.sglang.options import Sglang
from cardmatch.engine.memory.engines.tensorrt_llm.options import TensorrtLlm
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.terms.units import GIB, MIB
from tools.calibrate.medians import Observation, fitted
from tools.calibrate.vllm import fit_vllm, graph_observations


def fit_serving(rows: Sequence[Any], now: MemoryCalibration) -> MemoryCalibration:
    """VLLM's constants first; those that SGLang's and TensorRT-LLM's own rows say nothing of are vLLM's."""
    vllm = fit_vllm([row for row in rows if isinstance(row.engine, Vllm)], now)
    borrowed = _borrowed(vllm.forward_widths)
    sglang = [row for row in rows if isinstance(row.engine, Sglang)]
    tensorrt = [row for row in rows if isinstance(row.engine, TensorrtLlm)]
    graphs = fitted(graph_observations(sglang), vllm.graph_bytes.value)
    return msgspec.structs.replace(
        now,
        vllm=vllm,
        sglang=SglangCalibration(
            forward_widths=borrowed,
            context_bytes=fitted(_sglang_contexts(sglang, now), vllm.context_bytes.value),
            rank_bytes=_borrowed(vllm.rank_bytes),
            graph_bytes=graphs,
        ),
        tensorrt_llm=TensorrtLlmCalibration(
            forward_widths=borrowed,
            context_bytes=fitted(_tensorrt_contexts(tensorrt, now, borrowed), vllm.context_bytes.value),
            rank_bytes=_borrowed(vllm.rank_bytes),
            graph_bytes=_borrowed(vllm.graph_bytes),
        ),
    )


def fit_transformers(rows: Sequence[Any], now: MemoryCalibration) -> MemoryCalibration:
    """What a process holds beside weights and cache when generation ends; no row tells of contexts or prefills."""
    unfitted = now.transformers
    without = msgspec.structs.replace(unfitted, base_bytes=_nothing())
    found = []
    for row in rows:
        if isinstance(row.engine, Transformers):
            reserved: Any = reserve(row.job, row.engine, row.placement, _with_transformers(now, without)).reserves
            more = row.case.measured["gpu_memory_mib"] * MIB - reserved.held_bytes
            found.append(Observation(row.case.id, row.case.model.ref or row.case.id, more))
    base = fitted(found, unfitted.base_bytes.value)
    return _with_transformers(now, msgspec.structs.replace(unfitted, base_bytes=base))


def _with_transformers(now: MemoryCalibration, transformers: TransformersCalibration) -> MemoryCalibration:
    return msgspec.structs.replace(now, transformers=transformers)


def _nothing() -> Fitted:
    return Fitted(value=0.0, low_ratio=1.0, high_ratio=1.0, rows=0)


def _borrowed(constant: Fitted) -> Fitted:
    """Another engine's constant: its value, without its rows and with at least the band of something unmeasured."""
    unmeasured = fitted([], constant.value)
    return msgspec.structs.replace(
        unmeasured,
        low_ratio=min(unmeasured.low_ratio, constant.low_ratio),
        high_ratio=max(unmeasured.high_ratio, constant.high_ratio),
    )


def _sglang_contexts(rows: Sequence[Any], now: MemoryCalibration) -> list[Observation]:
    """Weights and pool fill the static share of what is free before loading: what is missing there is the context."""
    found = []
    for row in rows:
        measured, share = row.case.measured, row.case.setup["gpu_memory_utilization"]
        pool = measured["kv_pool_gib_per_gpu"]
        if pool is None or share is None or not row.known_device or row.placement.layout.gpus > 1:
            continue
        reserved = reserve(row.job, row.engine, row.placement, now)
        weights = measured["weights_gib_per_gpu"] or reserved.weights.expected_bytes / GIB
        before = (weights + pool) / share * GIB
        found.append(Observation(row.case.id, row.case.origin, row.placement.device.memory_bytes - before))
    return [each for each in found if each.value > 0]


def _tensorrt_contexts(rows: Sequence[Any], now: MemoryCalibration, forward: Fitted) -> list[Observation]:
    """Measured concurrency gives the cache, its share of the card what lay there before."""
    trial = msgspec.structs.replace(
        now,
        tensorrt_llm=TensorrtLlmCalibration(
            forward_widths=forward,
            context_bytes=_nothing(),
            rank_bytes=now.tensorrt_llm.rank_bytes,
            graph_bytes=now.tensorrt_llm.graph_bytes,
        ),
    )
    found = []
    for row in rows:
        requests = row.case.measured["max_concurrency_at_max_len"]
        if requests is None or not row.known_device or not isinstance(row.engine, TensorrtLlm):
            continue
        reserved = reserve(row.job, row.engine, row.placement, trial)
        pool = requests * reserved.cache.request_bytes(reserved.longest_tokens)
        free = pool / row.engine.kv_cache_free_gpu_memory_fraction
        fixed = sum(band.expected_bytes for band in (reserved.weights, reserved.activations, reserved.overhead))
        left = row.placement.device.memory_bytes - fixed - free
        found.append(Observation(row.case.id, row.case.origin, left))
    return [each for each in found if each.value > 0]
