"""What layers or experts in RAM cost in speed: a rule of thumb from the bytes that each token reads from where."""

from __future__ import annotations

from cardmatch.engine.memory.engines.llama_cpp.spread import Spread
from cardmatch.engine.memory.engines.offload import chosen_share
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity
from cardmatch.engine.terms.units import GB

# Two channels of DDR4-3200 and of DDR5-6000, the memory of the desktops that offload; servers have more channels.
SLOW_HOST_GB_S = 51.2
FAST_HOST_GB_S = 96.0
_REACHED_SHARE = 0.7  # of the peak, as STREAM copies reach on such machines
_TYPICAL_CARD_GB_S = 900.0


def offload_notice(job: ServingJob, spread: Spread, placement: Placement) -> Notice:
    """How much each generated token reads from RAM, and how many times slower that makes it than all on the GPU."""
    gpu_bytes, host_bytes = read_per_token(job, spread)
    card = (placement.device.bandwidth_gb_s or _TYPICAL_CARD_GB_S) * GB
    alone = (gpu_bytes + host_bytes) / card  # nothing, where a caller's model has no weights that a token reads
    low, high = (
        (gpu_bytes / card + host_bytes / (speed * GB * _REACHED_SHARE)) / alone if alone else 1.0
        for speed in (FAST_HOST_GB_S, SLOW_HOST_GB_S)
    )
    return Notice(
        code=NoticeCode.OFFLOAD,
        severity=Severity.WARNING,
        params={
            "offloaded_bytes": spread.host_bytes,
            "read_bytes": int(host_bytes),
            "times_slower_low": round(low, 1),
            "times_slower_high": round(high, 1),
            "basis": "rule_of_thumb",
        },
    )


def read_per_token(job: ServingJob, spread: Spread) -> tuple[float, float]:
    """Bytes of weights that one token reads from GPUs and from RAM: of experts, the chosen ones."""
    layers = len(job.architecture.layer_order)
    chosen = chosen_share(job)
    host_share = len(spread.host_layers) / layers
    expert_host_share = min(1.0, host_share + spread.host_expert_layers / layers)
    gpu = host = 0.0
    for part in spread.weights:
        if part.kind in {PartKind.EMBEDDING, PartKind.PER_LAYER_EMBEDDING, PartKind.MTP, PartKind.TOWER}:
            continue
        expert = part.kind is PartKind.EXPERTS
        size = part.bytes * (chosen if expert else 1.0)
        share = expert_host_share if expert else host_share
        gpu += size * (1 - share)
        host += size * share
    moved = sum(size for _, size in spread.moved)
    return gpu - moved, host + moved
