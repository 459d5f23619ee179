"""What a user of vLLM should know about a placement."""

from __future__ import annotations

import math

from cardmatch.engine.memory.cache_layout import CacheLayout
from cardmatch.engine.memory.engines.offload import over_the_bus
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.settle import Settled
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice
from cardmatch.engine.terms.units import GIB, MIB

_OWN_CONTEXT_BYTES = 512 * MIB
"""What the process itself holds when it looks: its CUDA context, rounded up."""

_STEPS = 1000


def startable_utilization(utilization: float, placement: Placement, *, asks_first: bool) -> float | None:
    """The share of the card at which vLLM starts beside what others hold, null where *utilization* will do.

    Since 0.9 it refuses to start unless the whole share is free, whatever it then takes; its budget beside others is
    that share less what they hold. Source: vllm v0.33.0 v1/worker/utils.py, request_memory.
    """
    memory = placement.device.memory_bytes
    held = placement.occupied_bytes
    if not held or not asks_first or held + _OWN_CONTEXT_BYTES <= (1 - utilization) * memory:
        return None
    return max(1, math.floor((utilization - held / memory) * _STEPS)) / _STEPS


def notices(
    job: ServingJob,
    options: Vllm,
    settled: Settled,
    placement: Placement,
    cache: CacheLayout,
    longest: int,
    available: int,
) -> tuple[Notice, ...]:
    """A length that must be said, a share of the card that others hold, weights in RAM."""
    found: list[Notice] = []
    limit = job.architecture.maximum_context_tokens
    if options.max_model_len is None and limit is not None and longest < limit:
        starts = cache.request_bytes(longest) <= available
        if starts and cache.request_bytes(limit) > available:
            code = NoticeCode.MAX_LENGTH_NEEDED
            found.append(notice(code, Severity.INFO, engine="vllm", limit_tokens=limit, context_tokens=longest))
    if placement.occupied_bytes:
        share = startable_utilization(settled.utilization, placement, asks_first=settled.era.asks_first)
        if share is not None:
            found.append(_beside_others(settled.utilization, share, placement))
    if options.cpu_offload_gb:
        found.append(over_the_bus(job, int(options.cpu_offload_gb * GIB), placement))
    return tuple(found)


def _beside_others(utilization: float, share: float, placement: Placement) -> Notice:
    memory = placement.device.memory_bytes
    return notice(
        NoticeCode.MEMORY_HELD_BY_OTHERS,
        Severity.WARNING,
        engine="vllm",
        needed_bytes=int(utilization * memory),
        free_bytes=memory - placement.occupied_bytes,
        gpu_memory_utilization=share,
    )
