"""Architectures that contradict themselves are refused before anything is reckoned from them."""

from __future__ import annotations

import pytest

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    Dense,
    Experts,
    LayerGroup,
    NextTokenLayers,
    Span,
)
from cardmatch.engine.models.consistency import check_architecture
from cardmatch.engine.terms.fault import FaultCode, Invalid

ATTENTION = Attention(query_heads=32, kv_heads=8, head_size=128)


def _model(
    block: AnyBlock = ATTENTION, order: tuple[int, ...] = (0, 0), group: LayerGroup | None = None
) -> Architecture:
    return Architecture(
        family="test",
        hidden_size=4096,
        vocabulary_size=32000,
        layer_groups=(LayerGroup(blocks=(block, Dense(width=14336))),),
        layer_order=order,
        next_token_layers=NextTokenLayers(layers=1, group=group) if group else None,
    )


@pytest.mark.parametrize(
    ("model", "code", "pointer"),
    [
        (_model(order=(0, 254)), FaultCode.WRONG_VALUE, "/layer_order/1"),
        (
            _model(Attention(query_heads=32, kv_heads=7, head_size=128)),
            FaultCode.NOT_DIVISIBLE,
            "/layer_groups/0/blocks/0/query_heads",
        ),
        (
            _model(Attention(query_heads=32, kv_heads=8, head_size=128, span=Span.SLIDING)),
            FaultCode.NEEDS_FIELD,
            "/layer_groups/0/blocks/0/span",
        ),
        (
            _model(Experts(experts=8, experts_per_token=9, width=1024)),
            FaultCode.ABOVE_OTHER_FIELD,
            "/layer_groups/0/blocks/0/experts_per_token",
        ),
        (
            _model(group=LayerGroup(blocks=(Attention(query_heads=3, kv_heads=2, head_size=64),))),
            FaultCode.NOT_DIVISIBLE,
            "/next_token_layers/group/blocks/0/query_heads",
        ),
    ],
)
def test_a_contradiction_is_pointed_at(model: Architecture, code: FaultCode, pointer: str) -> None:
    """Each contradiction has a pointer to the figure that cannot be."""
    with pytest.raises(Invalid) as caught:
        check_architecture(model)
    assert [(fault.code, fault.pointer) for fault in caught.value.faults] == [(code, pointer)]


def test_a_model_beyond_all_measure_is_refused() -> None:
    """Each figure may be large, but not all at once: no answer could hold the result."""
    with pytest.raises(Invalid) as caught:
        check_architecture(_model(Experts(experts=1 << 24, experts_per_token=1, width=1 << 24)))
    assert [fault.code for fault in caught.value.faults] == [FaultCode.MODEL_TOO_LARGE]


def test_what_agrees_passes() -> None:
    """Grouped-query attention with a gated feed-forward, as Llama has it."""
    check_architecture(_model())


def test_one_mistake_in_many_layers_is_not_repeated_for_ever() -> None:
    """The first ten faults are enough."""
    with pytest.raises(Invalid) as caught:
        check_architecture(_model(order=(9,) * 4096))
    assert len(caught.value.faults) == 10
