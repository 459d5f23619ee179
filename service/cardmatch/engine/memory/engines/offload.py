"""What weights in the machine's RAM cost in speed: a rule of thumb from the bytes that each token reads from where."""

from __future__ import annotations

from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reservation import Pool
from cardmatch.engine.models.architecture import Experts
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity
from cardmatch.engine.terms.units import GB

# PCIe 4.0 and 5.0 with 16 lanes, each way; copies from pinned memory reach about four fifths (CUDA bandwidthTest).
_SLOW_BUS_GB_S, _FAST_BUS_GB_S = 31.5, 63.0
_BUS_SHARE = 0.8
_TYPICAL_CARD_GB_S = 900.0


def host_pool(placement: Placement, ram_bytes: int) -> tuple[Pool, ...]:
    """The machine's memory as a pool of its own, where the request says how much there is."""
    if placement.host_ram_bytes is None:
        return ()
    return (
        Pool(
            name="host_ram",
            budget_bytes=placement.host_ram_bytes,
            fixed_expected_bytes=ram_bytes,
            fixed_high_bytes=ram_bytes,
            holds_cache=False,
        ),
    )


def over_the_bus(job: ServingJob, offloaded_bytes: int, placement: Placement) -> Notice:
    """Of *offloaded_bytes* per GPU every step copies all that serve its tokens over PCIe, which the card waits for."""
    held = max(job.sums.total // max(1, placement.layout.tensor * placement.layout.pipeline), 1)
    share = min(1.0, offloaded_bytes / held)
    card = (placement.device.bandwidth_gb_s or _TYPICAL_CARD_GB_S) * GB
    low, high = ((1 - share) + share * card / (bus * _BUS_SHARE * GB) for bus in (_FAST_BUS_GB_S, _SLOW_BUS_GB_S))
    return Notice(
        code=NoticeCode.OFFLOAD,
        severity=Severity.WARNING,
        params={
            "offloaded_bytes": offloaded_bytes,
            "read_bytes": int(offloaded_bytes * chosen_share(job)),
            "times_slower_low": round(low, 1),
            "times_slower_high": round(high, 1),
            "basis": "rule_of_thumb",
        },
    )


def chosen_share(job: ServingJob) -> float:
    """The share of the routed experts that serve one token; 1 without any."""
    blocks = [block for group in job.architecture.layer_groups for block in group.blocks if isinstance(block, Experts)]
    return max((block.experts_per_token / block.experts for block in blocks), default=1.0)
