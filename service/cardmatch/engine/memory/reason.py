"""What no job may ask for, whatever it does: more than a figure of an answer can hold, a copy over several GPUs."""

from __future__ import annotations

from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.terms.fault import FaultCode, refusal

MOST_BYTES = 1 << 54
"""16 PiB: sums of such figures stay within what the wire takes for bytes."""


def check_reason(needed: float, field: str) -> None:
    """Refuse what no figure of an answer could hold. Raises Invalid at *field* of the workload."""
    if needed > MOST_BYTES:
        raise refusal(FaultCode.BATCH_BEYOND_REASON, f"/workload/{field}", limit_bytes=MOST_BYTES)


def check_copies(placement: Placement, index: int, workload: str) -> None:
    """Refuse layouts that split a model: of several GPUs each runs a copy. Raises Invalid."""
    layout = placement.layout
    if layout.tensor * layout.pipeline > 1:
        pointer = f"/cards/{index}/layout"
        raise refusal(FaultCode.ONE_GPU_A_COPY, pointer, workload=workload, count=placement.count)
