"""What an architecture must agree on with itself, beyond the bounds of each figure."""

from __future__ import annotations

from collections.abc import Iterator

from cardmatch.engine.models.architecture import AnyBlock, Architecture, Attention, Experts, LayerGroup, Span
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params


def check_architecture(architecture: Architecture) -> None:
    """Raises Invalid, with pointers into *architecture*, where parts of it contradict each other."""
    faults = [*_order(architecture)]
    for position, group in enumerate(architecture.layer_groups):
        faults += _group(group, f"/layer_groups/{position}")
    if architecture.next_token_layers:
        faults += _group(architecture.next_token_layers.group, "/next_token_layers/group")
    if architecture.encoder:
        faults += _group(architecture.encoder.layer, "/encoder/layer")
    if faults:
        raise Invalid(*faults[:_MOST])
    if (total := parameters(architecture).total) > LARGEST:
        params: Params = {"parameters": total, "max_parameters": LARGEST}
        raise Invalid(Fault(code=FaultCode.MODEL_TOO_LARGE, pointer="", params=params))


LARGEST = 10**14
"""Parameters of a model that is answered for: a hundred times the largest published, and far from any overflow."""

_MOST = 10
"""Faults that are reported at once; thousands of layers may share one mistake."""


def _order(architecture: Architecture) -> Iterator[Fault]:
    groups = len(architecture.layer_groups)
    for layer, group in enumerate(architecture.layer_order):
        if group >= groups:
            known = [str(index) for index in range(groups)]
            yield Fault(
                code=FaultCode.WRONG_VALUE,
                pointer=f"/layer_order/{layer}",
                params={"value": str(group), "known": known},
            )


def _group(group: LayerGroup, pointer: str) -> Iterator[Fault]:
    for position, block in enumerate(group.blocks):
        yield from _block(block, f"{pointer}/blocks/{position}")


def _block(block: AnyBlock, pointer: str) -> Iterator[Fault]:
    if isinstance(block, Attention):
        if block.query_heads % block.kv_heads:
            params: Params = {"value": block.query_heads, "divisor": block.kv_heads, "other": f"{pointer}/kv_heads"}
            yield Fault(code=FaultCode.NOT_DIVISIBLE, pointer=f"{pointer}/query_heads", params=params)
        if block.span is not Span.FULL and block.window_tokens is None:
            yield Fault(code=FaultCode.NEEDS_FIELD, pointer=f"{pointer}/span", params={"field": "window_tokens"})
    if isinstance(block, Experts) and block.experts_per_token > block.experts:
        most: Params = {"field": "experts", "maximum": block.experts}
        yield Fault(code=FaultCode.ABOVE_OTHER_FIELD, pointer=f"{pointer}/experts_per_token", params=most)
