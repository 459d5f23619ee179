"""Which layouts a model can be split over."""

from __future__ import annotations

from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid


def check_layout(architecture: Architecture, placement: Placement, index: int) -> None:
    """Refuse layouts that no engine can run: heads that do not divide, more stages than layers."""
    layout, pointer = placement.layout, f"/cards/{index}/layout"
    for group in architecture.layer_groups:
        for block in group.blocks:
            heads = getattr(block, "query_heads", getattr(block, "heads", 0))
            if heads and heads % layout.tensor:
                raise Invalid(
                    Fault(
                        code=FaultCode.HEADS_NOT_DIVISIBLE,
                        pointer=f"{pointer}/tensor",
                        params={"tensor": layout.tensor, "heads": heads, "known": _divisors(heads, placement.count)},
                    )
                )
    layers = len(architecture.layer_order)
    if layout.pipeline > layers:
        raise Invalid(
            Fault(
                code=FaultCode.MORE_STAGES_THAN_LAYERS,
                pointer=f"{pointer}/pipeline",
                params={"pipeline": layout.pipeline, "layers": layers},
            )
        )


def _divisors(heads: int, most: int) -> list[str]:
    """The tensor-parallel sizes that would do, as words."""
    return [str(size) for size in range(1, max(most, 8) + 1) if heads % size == 0]
