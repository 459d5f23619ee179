"""What llama.cpp's rules leave over: the spread of compute buffers around them, and the size of a CUDA context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from cardmatch.engine.memory.calibration import Fitted, LlamaCppCalibration, MemoryCalibration
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp, Variant
from cardmatch.engine.memory.engines.llama_cpp.reserve import expands_latents
from cardmatch.engine.memory.engines.llama_cpp.reserves import LlamaCppReserves
from cardmatch.engine.memory.engines.llama_cpp.settled import settle
from cardmatch.engine.memory.engines.registry import reserve
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.terms.units import MIB
from tests.truth.cases import Case
from tests.truth.statistics import percentile
from tools.calibrate.medians import Observation, fitted

CONTEXT_BYTES = 330 * MIB
"""A CUDA context with cuBLAS and kernels, where no row speaks of one."""

TAIL = 0.05
"""A band holds nine rows in ten."""

_DIGITS = 4


GROUPS = ("compute", "fork_compute", "fork_latent_compute")


class Row(Protocol):
    """A case as a request."""

    @property
    def case(self) -> Case:
        """The measured row."""
        ...

    @property
    def job(self) -> ServingJob:
        """The job that it asks about."""
        ...

    @property
    def options(self) -> LlamaCpp:
        """How the engine was started."""
        ...

    @property
    def placement(self) -> Placement:
        """On which GPUs."""
        ...

    @property
    def known_compute(self) -> bool:
        """Whether the row states all that its compute buffer depends on."""
        ...


def fit_llama_cpp(rows: Sequence[Row], now: MemoryCalibration) -> MemoryCalibration:
    """*now* with llama.cpp's constants from *rows*."""
    plain = Fitted(value=1.0, low_ratio=1.0, high_ratio=1.0, rows=0)
    nothing = Fitted(value=0.0, low_ratio=1.0, high_ratio=1.0, rows=0)
    bare = LlamaCppCalibration(compute=plain, fork_compute=plain, fork_latent_compute=plain, context_bytes=nothing)
    trial = msgspec.structs.replace(now, llama_cpp=bare)
    printed = [(row, _reserves(row, trial)) for row in rows]
    groups: dict[str, list[tuple[Row, LlamaCppReserves]]] = {name: [] for name in GROUPS}
    for pair in printed:
        groups[group_of(pair[0])].append(pair)
    return msgspec.structs.replace(
        now,
        llama_cpp=LlamaCppCalibration(
            **{name: _spread(groups[name]) for name in GROUPS},
            context_bytes=fitted(_contexts(printed), CONTEXT_BYTES),
        ),
    )


def group_of(row: Row) -> str:
    """Which constant the row's compute buffer speaks to."""
    if row.options.variant is not Variant.IK:
        return "compute"
    latent = expands_latents(row.job.architecture, settle(row.options, row.job))
    return "fork_latent_compute" if latent else "fork_compute"


def _reserves(row: Row, trial: MemoryCalibration) -> LlamaCppReserves:
    reserves = reserve(row.job, row.options, row.placement, trial).reserves
    if not isinstance(reserves, LlamaCppReserves):
        raise TypeError(row.case.id)
    return reserves


def _spread(printed: Sequence[tuple[Row, LlamaCppReserves]]) -> Fitted:
    """Logged over predicted. The rules stand as they are, so the constant is 1; only its band is fitted.

    The band is wider where few sources speak.
    """
    ratios = {
        row.case.id: row.case.measured["compute_mib"] * MIB / max(gpu.compute_bytes for gpu in log.devices)
        for row, log in printed
        if row.case.measured["compute_mib"] and row.known_compute
    }
    if not ratios:
        return Fitted(value=1.0, low_ratio=0.5, high_ratio=2.0, rows=0)
    values = list(ratios.values())
    doubt = 1 + 1 / (1 + len({row.case.origin for row, _ in printed if row.case.id in ratios}))
    return Fitted(
        value=1.0,
        low_ratio=round(min(1 / doubt, percentile(values, TAIL)), _DIGITS),
        high_ratio=round(max(doubt, percentile(values, 1 - TAIL)), _DIGITS),
        rows=len(ratios),
        sources=tuple(ratios),
        residuals=tuple(round(value, _DIGITS) for value in values),
    )


def _contexts(printed: Sequence[tuple[Row, LlamaCppReserves]]) -> list[Observation]:
    """What a process holds beside its buffers: as the row states it, or its total less every buffer that it states."""
    found = []
    for row, _ in printed:
        measured = row.case.measured
        context = measured["cuda_context_mib"]
        parts = [measured["gpu_model_mib"], measured["kv_on_gpu_mib"], measured["compute_mib"]]
        if context is None and measured["total_used_mib"] and None not in parts and not measured["recurrent_state_mib"]:
            context = measured["total_used_mib"] - sum(parts)
        if context is not None and context > 0:
            found.append(Observation(row.case.id, row.case.origin, context * MIB))
    return found
