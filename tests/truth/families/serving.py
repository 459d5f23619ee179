"""vLLM, SGLang and TensorRT-LLM against their logs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import reserve
from cardmatch.engine.memory.engines.sglang.reserves import SglangReserves
from cardmatch.engine.memory.engines.tensorrt_llm.reserves import TensorrtLlmReserves
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.reserves import VllmReserves
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.reservation import Reservation
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.units import GIB
from tests.truth.cases import Case
from tests.truth.families.serving_marks import serving_marks
from tests.truth.families.serving_request import Prepared, prepare
from tests.truth.frame import Figure, Judged, LeaveOut, Mark, Scored
from tests.truth.world import TruthWorld
from tools.calibrate.serving import fit_serving

POOL, KV, WEIGHTS = "pool (vLLM V1), GiB", "kv", "weights per GPU"


class ServingFamily:
    """Rows of serving_memory."""

    name = "serving_memory"
    leave_out = LeaveOut.SOURCE

    def prepare(self, case: Case, world: TruthWorld) -> Prepared:
        """The row as a request. Raises Skipped."""
        return prepare(case, world)

    def fit(self, prepared: Sequence[Prepared], world: TruthWorld) -> MemoryCalibration:
        """The engines' constants from these rows, the other engines' as they are."""
        return fit_serving(prepared, world.catalogue.calibration.serving)

    def score(self, prepared: Prepared, fitted: MemoryCalibration) -> Scored:
        """Every figure that the row states and the request gives."""
        reserved = reserve(prepared.job, prepared.engine, prepared.placement, fitted)
        figures = [
            *_weights(prepared, reserved),
            *_cache(prepared, reserved, fitted),
            *_pool(prepared, reserved),
            *_components(prepared, reserved),
        ]
        return Scored(case=prepared.case, figures=tuple(figures), judged=_judged(prepared, reserved))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """The design's marks on cache, weights, pools and verdicts."""
        return serving_marks(scored, kv=KV, weights=WEIGHTS, pool=POOL)


def _weights(prepared: Prepared, reserved: Reservation) -> list[Figure]:
    measured = prepared.case.measured["weights_gib_per_gpu"]
    if measured is None or not prepared.known_weights:
        return []
    return [Figure(group=WEIGHTS, predicted=reserved.weights.expected_bytes / GIB, measured=measured)]


def _cache(prepared: Prepared, reserved: Reservation, fitted: MemoryCalibration) -> list[Figure]:
    """Tokens that the logged pool holds, or else what the engine said that one request needs."""
    measured = prepared.case.measured
    pool, tokens = measured["kv_pool_gib_per_gpu"], measured["kv_pool_tokens"]
    if pool is not None and tokens is not None:
        predicted = _tokens_in(prepared, reserved, int(pool * GIB), fitted)
        return [Figure(group=KV, predicted=predicted, measured=tokens)]
    if measured["kv_gib_for_max_len"] is not None:
        one = reserved.cache.request_bytes(reserved.longest_tokens) / GIB
        return [Figure(group=KV, predicted=one, measured=measured["kv_gib_for_max_len"])]
    if measured["max_concurrency_at_max_len"] is not None and isinstance(reserved.reserves, TensorrtLlmReserves):
        at_once = reserved.reserves.kv_cache_tokens / reserved.longest_tokens
        return [
            Figure(
                group="concurrency (TensorRT-LLM)",
                predicted=at_once,
                measured=measured["max_concurrency_at_max_len"],
            )
        ]
    return []


def _tokens_in(prepared: Prepared, reserved: Reservation, pool: int, fitted: MemoryCalibration) -> float:
    if isinstance(prepared.engine, Vllm):
        given = msgspec.structs.replace(prepared.engine, kv_cache_memory_bytes=pool)
        printed = reserve(prepared.job, given, prepared.placement, fitted).reserves
        assert isinstance(printed, VllmReserves)
        return printed.kv_cache_tokens
    if isinstance(reserved.reserves, SglangReserves):
        return pool / (reserved.reserves.kv_cache_bytes / max(reserved.reserves.kv_cache_tokens, 1))
    return pool / (reserved.cache.request_bytes(reserved.longest_tokens) / reserved.longest_tokens)


def _pool(prepared: Prepared, reserved: Reservation) -> list[Figure]:
    """The pool of a V1 engine that ran, where card, utilisation and weights are known."""
    measured, setup = prepared.case.measured["kv_pool_gib_per_gpu"], prepared.case.setup
    if not isinstance(reserved.reserves, VllmReserves) or measured is None or setup["era"] != "v1":
        return []
    if prepared.case.outcome != "ran" or not prepared.known_device or not prepared.known_weights:
        return []
    if setup["gpu_memory_utilization"] is None:
        return []
    fixed = (reserved.weights, reserved.activations, reserved.overhead)
    return [
        Figure(
            group=POOL,
            predicted=reserved.reserves.kv_cache_bytes / GIB,
            measured=measured,
            low=(reserved.budget_bytes - sum(band.high_bytes for band in fixed) - reserved.noise_high_bytes) / GIB,
            high=(reserved.budget_bytes - sum(band.low_bytes for band in fixed) + reserved.noise_low_bytes) / GIB,
            absolute=True,
        )
    ]


def _components(prepared: Prepared, reserved: Reservation) -> list[Figure]:
    """Activations, contexts and graphs one by one, where a log prints them."""
    measured = prepared.case.measured
    found = []
    if measured["activation_peak_gib"] and isinstance(prepared.engine, Vllm):
        found.append(_banded("activation peak", reserved.activations, measured["activation_peak_gib"]))
    graphs = getattr(reserved.reserves, "graphs_bytes", 0)
    if measured["cuda_graph_gib"] and graphs:
        found.append(Figure(group="graphs", predicted=graphs / GIB, measured=measured["cuda_graph_gib"]))
    return found


def _banded(group: str, band: Band, measured: float) -> Figure:
    return Figure(
        group=group,
        predicted=band.expected_bytes / GIB,
        measured=measured,
        low=band.low_bytes / GIB,
        high=band.high_bytes / GIB,
    )


def _judged(prepared: Prepared, reserved: Reservation) -> Judged | None:
    """The verdict where a card is known; else, for a refusal, whether the logged pool holds one request."""
    case = prepared.case
    offloaded = bool(case.setup["cpu_offload_gib"])
    if prepared.known_device:
        if not prepared.known_weights:
            return None
        placed = place(prepared.job, prepared.placement, reserved)
        return Judged(verdict=placed.verdict.value, outcome=case.outcome, offloaded=offloaded)
    pool = case.measured["kv_pool_gib_per_gpu"]
    if case.outcome == "ran" or pool is None:
        return None
    one = reserved.cache.request_bytes(reserved.longest_tokens)
    return Judged(verdict="does_not_fit" if one > pool * GIB else "fits", outcome=case.outcome, offloaded=offloaded)
