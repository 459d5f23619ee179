"""llama.cpp, its fork and its kin against their logs, buffer by buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.reserves import LlamaCppReserves
from cardmatch.engine.memory.engines.registry import reserve
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.terms.units import MIB
from tests.truth.cases import Case
from tests.truth.families.llamacpp_marks import llamacpp_marks
from tests.truth.families.llamacpp_request import Prepared, prepare
from tests.truth.frame import Figure, Judged, LeaveOut, Mark, Scored
from tests.truth.world import TruthWorld
from tools.calibrate.llamacpp import fit_llama_cpp, group_of

LATENT = "fork, latent attention"
"""Rows do not state -mla and -amb, which decide what the fork computes of latents at a time."""

_GROUPS = {"compute": "mainline", "fork_compute": "fork", "fork_latent_compute": LATENT}


class LlamaCppFamily:
    """Rows of llamacpp_memory."""

    name = "llamacpp_memory"
    leave_out = LeaveOut.SOURCE

    def prepare(self, case: Case, world: TruthWorld) -> Prepared:
        """The row as a request. Raises Skipped."""
        return prepare(case, world)

    def fit(self, prepared: Sequence[Prepared], world: TruthWorld) -> MemoryCalibration:
        """The spread of compute buffers and the size of a context from these rows."""
        return fit_llama_cpp(prepared, world.catalogue.calibration.serving)

    def score(self, prepared: Prepared, fitted: MemoryCalibration) -> Scored:
        """Every buffer that the row states and the request gives."""
        reserved = reserve(prepared.job, prepared.options, prepared.placement, fitted)
        assert isinstance(reserved.reserves, LlamaCppReserves)
        group = _GROUPS[group_of(prepared)]
        figures = [
            *_model(prepared, reserved.reserves, group.partition(",")[0]),
            *_caches(prepared, reserved.reserves),
            *_compute(prepared, reserved, reserved.reserves, group),
            *_sum(prepared, reserved.reserves, group),
        ]
        return Scored(case=prepared.case, figures=tuple(figures), judged=_judged(prepared, reserved))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """The design's marks on caches, components, sums and verdicts."""
        return llamacpp_marks(scored)


def _figure(group: str, predicted: float, measured: Any) -> list[Figure]:
    return [Figure(group=group, predicted=predicted / MIB, measured=measured)] if measured else []


def _model(prepared: Prepared, log: LlamaCppReserves, group: str) -> list[Figure]:
    if not prepared.known_weights:
        return []
    measured = prepared.case.measured
    return [
        *_figure(f"model ({group})", sum(gpu.model_bytes for gpu in log.devices), measured["gpu_model_mib"]),
        *_figure(f"model in RAM ({group})", log.host_model_bytes, measured["host_model_mib"]),
    ]


def _caches(prepared: Prepared, log: LlamaCppReserves) -> list[Figure]:
    """The whole cache, on GPUs and in RAM, windows included where the row counts them, and recurrent state."""
    measured, found = prepared.case.measured, []
    if prepared.known_context and measured["kv_mib"] is not None:
        full = sum(gpu.kv_cache_bytes + gpu.kv_cache_sliding_bytes for gpu in log.devices) + log.host_kv_cache_bytes
        found += _figure("kv", full, measured["kv_mib"] + (measured["kv_swa_mib"] or 0.0))
    state = sum(gpu.recurrent_state_bytes for gpu in log.devices)
    if log.gpu_layers == log.total_layers:
        found += _figure("state", state, measured["recurrent_state_mib"])
    if prepared.known_context:
        found += _figure("indexer", sum(gpu.indexer_bytes for gpu in log.devices), measured.get("indexer_kv_mib"))
    return found


def _compute(prepared: Prepared, reserved: Reservation, log: LlamaCppReserves, group: str) -> list[Figure]:
    """The largest compute buffer, with the band of the fullest GPU's."""
    measured = prepared.case.measured["compute_mib"]
    if not measured or not prepared.known_compute:
        return []
    predicted = max(gpu.compute_bytes for gpu in log.devices) / MIB
    drafts = max(gpu.draft_bytes for gpu in log.devices)
    band = reserved.activations
    expected = max(1, band.expected_bytes - drafts)
    return [
        Figure(
            group=f"compute ({group})",
            predicted=predicted,
            measured=measured,
            low=predicted * (band.low_bytes - drafts) / expected,
            high=predicted * (band.high_bytes - drafts) / expected,
        )
    ]


def _sum(prepared: Prepared, log: LlamaCppReserves, group: str) -> list[Figure]:
    """Model, cache, state and compute of all GPUs, where a row states every one that its model has."""
    measured = prepared.case.measured
    every = [measured["gpu_model_mib"], measured["kv_mib"], measured["compute_mib"]]
    if None in every or not prepared.known_weights or not prepared.known_compute or group == LATENT:
        return []
    state = sum(gpu.recurrent_state_bytes for gpu in log.devices)
    if state and measured["recurrent_state_mib"] is None:
        return []
    cache = measured["kv_on_gpu_mib"]
    if cache is None:
        cache = measured["kv_mib"] + (measured["kv_swa_mib"] or 0.0)
    compute = sum(measured["compute_per_gpu_mib"] or [measured["compute_mib"]])
    predicted = state + sum(
        gpu.model_bytes + gpu.kv_cache_bytes + gpu.kv_cache_sliding_bytes + gpu.compute_bytes for gpu in log.devices
    )
    total = measured["gpu_model_mib"] + cache + (measured["recurrent_state_mib"] or 0.0) + compute
    return _figure(f"sum ({group})", predicted, total)


def _judged(prepared: Prepared, reserved: Reservation) -> Judged | None:
    """The verdict where card, weights and all that compute buffers depend on are known."""
    if not (prepared.known_device and prepared.known_weights and prepared.known_compute):
        return None
    if _GROUPS[group_of(prepared)] == LATENT:
        return None
    placed = place(prepared.job, prepared.placement, reserved)
    return Judged(verdict=placed.verdict.value, outcome=prepared.case.outcome, offloaded=reserved.offloaded)
