"""vLLM's constants: which peak of the profiling run a row saw, and what it says that the constant behind it is."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.memory.calibration import Fitted, MemoryCalibration, Noise, VllmCalibration
from cardmatch.engine.memory.engines.registry import reserve
from cardmatch.engine.memory.engines.vllm.eras import Sampler
from cardmatch.engine.memory.engines.vllm.settle import Settled, settle
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.models.cache import CacheKind
from cardmatch.engine.terms.units import GIB
from tests.truth.statistics import median, percentile
from tools.calibrate.medians import FEW_SOURCES, TAIL, Observation, fitted

_NOMINAL = {"sorted": 9.5, "fused": 4.0, "forward": 1.2, "tower": 1.5 * GIB}
"""Only to tell which peak a row saw: what the source's own tensors add up to (eras.Sampler, widths.Width)."""

_LOGIT_BYTES, _ACTIVATION_BYTES = 4, 2


class Peak(StrEnum):
    """What the peak of a profiling run was."""

    SORTED = "sorted"
    FUSED = "fused"
    FORWARD = "forward"
    TOWER = "tower"


class _Candidate(NamedTuple):
    peak: Peak
    units: float

    @property
    def nominal(self) -> float:
        return self.units * _NOMINAL[self.peak]


def fit_vllm(rows: Sequence[Any], now: MemoryCalibration) -> VllmCalibration:
    """Contexts and graphs first, because what is left of a budget without them is the peak."""
    contexts = fitted(_contexts(rows), now.vllm.context_bytes.value)
    ranks = fitted(_ranks(rows, contexts), now.vllm.rank_bytes.value)
    graphs = fitted(graph_observations(rows), now.vllm.graph_bytes.value)
    trial = msgspec.structs.replace(now.vllm, context_bytes=contexts, rank_bytes=ranks, graph_bytes=graphs)
    peaks = _peaks(rows, msgspec.structs.replace(now, vllm=trial))
    found = msgspec.structs.replace(
        trial,
        sorted_copies=fitted(peaks[Peak.SORTED], now.vllm.sorted_copies.value),
        fused_copies=fitted(peaks[Peak.FUSED], now.vllm.fused_copies.value),
        forward_widths=fitted(peaks[Peak.FORWARD], now.vllm.forward_widths.value),
        tower_bytes=fitted(peaks[Peak.TOWER], now.vllm.tower_bytes.value),
    )
    return msgspec.structs.replace(found, noise=_noise(rows, msgspec.structs.replace(now, vllm=found)))


def _noise(rows: Sequence[Any], fitted_all: MemoryCalibration) -> Noise:
    """What pools differ by from what all constants say, in bytes; runs of one setup differ by as much."""
    by_source: dict[str, list[float]] = defaultdict(list)
    names = []
    for row in rows:
        measured, share = row.case.measured["kv_pool_gib_per_gpu"], row.case.setup["gpu_memory_utilization"]
        if measured is None or share is None or not _is_v1(row) or row.case.outcome != "ran":
            continue
        if row.known_device and row.known_weights:
            predicted = reserve(row.job, row.engine, row.placement, fitted_all)
            fixed = (predicted.weights, predicted.activations, predicted.overhead)
            pool = predicted.budget_bytes - sum(band.expected_bytes for band in fixed)
            by_source[row.case.origin].append(pool - measured * GIB)
            names.append(row.case.id)
    differences = [median(values) for values in by_source.values()]
    if len(differences) < FEW_SOURCES:
        return fitted_all.vllm.noise
    return Noise(
        low_bytes=round(max(0.0, -percentile(differences, TAIL))),
        high_bytes=round(max(0.0, percentile(differences, 1 - TAIL))),
        rows=len(names),
        sources=tuple(names),
    )


def _is_v1(row: Any) -> bool:
    return bool(row.case.setup["era"] == "v1")


def _contexts(rows: Sequence[Any]) -> list[Observation]:
    return [
        Observation(row.case.id, row.case.origin, row.case.measured["non_torch_gib"] * GIB)
        for row in rows
        if row.case.measured["non_torch_gib"] and _is_v1(row) and row.placement.layout.gpus == 1
    ]


def _ranks(rows: Sequence[Any], contexts: Fitted) -> list[Observation]:
    return [
        Observation(row.case.id, row.case.origin, row.case.measured["non_torch_gib"] * GIB - contexts.value)
        for row in rows
        if row.case.measured["non_torch_gib"] and _is_v1(row) and row.placement.layout.gpus > 1
    ]


def graph_observations(rows: Sequence[Any]) -> list[Observation]:
    """Printed graphs."""
    return [
        Observation(row.case.id, row.case.origin, row.case.measured["cuda_graph_gib"] * GIB)
        for row in rows
        if row.case.measured["cuda_graph_gib"] and not row.case.setup["enforce_eager"]
    ]


def _peaks(rows: Sequence[Any], trial: MemoryCalibration) -> dict[Peak, list[Observation]]:
    found: dict[Peak, list[Observation]] = {peak: [] for peak in Peak}
    for row in rows:
        peak = _observed_peak(row, trial)
        if peak is None or not _is_v1(row):
            continue
        settled = settle(row.engine, row.placement.device, row.placement.layout, row.job.context_tokens)
        hidden = settled.max_num_batched_tokens * row.job.architecture.hidden_size * _ACTIVATION_BYTES
        seen = _seen(_candidates(row, settled), peak - hidden)
        if peak > hidden and seen.units and (seen.peak is Peak.TOWER or not _profiles_tower(row)):
            found[seen.peak].append(Observation(row.case.id, row.case.origin, (peak - hidden) / seen.units))
    return found


def _profiles_tower(row: Any) -> bool:
    """Encoders were profiled otherwise while vLLM sorted: such rows tell of neither text nor today's encoders."""
    return bool(row.job.architecture.towers) and not row.engine.language_model_only


def _seen(candidates: list[_Candidate], peak: float) -> _Candidate:
    """The largest candidate; where sorting is, whether FlashInfer was installed and spared it is read off the peak."""
    seen = max(candidates, key=lambda candidate: candidate.nominal)
    if seen.peak is not Peak.SORTED:
        return seen
    fused = _Candidate(Peak.FUSED, seen.units)
    return fused if peak < math.sqrt(seen.nominal * fused.nominal) else seen


def _candidates(row: Any, settled: Settled) -> list[_Candidate]:
    architecture = row.job.architecture
    requests = min(settled.max_num_seqs, settled.max_num_batched_tokens)
    sampler = Peak.SORTED if settled.sampler is Sampler.SORTED else Peak.FUSED
    found = [
        _Candidate(sampler, requests * architecture.vocabulary_size * _LOGIT_BYTES),
        _Candidate(
            Peak.FORWARD,
            settled.max_num_batched_tokens * _ACTIVATION_BYTES * widest(row.job.widths, row.placement.layout.tensor),
        ),
    ]
    if _profiles_tower(row) and settled.sampler is Sampler.FUSED:
        found.append(_Candidate(Peak.TOWER, 1.0))
    return found


def _observed_peak(row: Any, trial: MemoryCalibration) -> float | None:
    """The printed peak, or what weights, pool, contexts and counted graphs leave of the budget; None where unknown."""
    measured, setup, engine = row.case.measured, row.case.setup, row.engine
    if not row.known_device or row.case.outcome == "oom" or _scores_pairs(row):
        return None
    in_budget = settle(engine, row.placement.device, row.placement.layout, row.job.context_tokens)
    counted = in_budget.era.graphs_in_budget and not engine.enforce_eager
    graphs = trial.vllm.graph_bytes.value if counted else 0.0
    if measured["activation_peak_gib"] and not counted:
        return float(measured["activation_peak_gib"] * GIB)
    pool, share = measured["kv_pool_gib_per_gpu"], setup["gpu_memory_utilization"]
    if pool is None or share is None or measured["weights_gib_per_gpu"] is None:
        return None
    reserved = reserve(row.job, engine, row.placement, trial)
    context = reserved.overhead.expected_bytes - (graphs if counted else 0.0)
    return float(reserved.budget_bytes - (measured["weights_gib_per_gpu"] + pool) * GIB - context - graphs)


def _scores_pairs(row: Any) -> bool:
    """An indexer's scores are a peak of their own, without a constant."""
    return any(cache.kind is CacheKind.INDEXER for cache in row.job.cache_rows)
