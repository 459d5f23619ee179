"""Choices of cards that the hardware rules out."""

from __future__ import annotations

import pytest

from cardmatch.answers.placements import resolve_placement
from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.choice import CardChoice, CustomCard, Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB


def _refusal(choice: CardChoice) -> tuple[FaultCode, str]:
    with pytest.raises(Invalid) as refused:
        resolve_placement(bundled(), choice)
    (fault,) = refused.value.faults
    return fault.code, fault.pointer


def test_a_model_is_not_spread_over_slices() -> None:
    """MIG slices have no peer-to-peer access (NVIDIA MIG user guide), so neither matrices nor stages can be split."""
    assert _refusal(CardChoice(card="a100-sxm-80", mig="3g.40gb", count=2)) == (FaultCode.MIG_OVER_SEVERAL, "/count")
    staged = CardChoice(card="a100-sxm-80", mig="3g.40gb", count=2, layout=Layout(pipeline=2))
    assert _refusal(staged) == (FaultCode.MIG_OVER_SEVERAL, "/count")


def test_copies_of_a_model_may_have_a_slice_each() -> None:
    """Data parallelism needs no link between the slices."""
    choice = CardChoice(card="a100-sxm-80", mig="3g.40gb", count=2, layout=Layout(data=2))
    assert resolve_placement(bundled(), choice).device.mig == "3g.40gb"


def test_a_card_without_nvlink_is_not_joined_by_it() -> None:
    """The RTX 4090 has no NVLink connector."""
    assert _refusal(CardChoice(card="rtx-4090", count=2, link=Link.BRIDGE)) == (FaultCode.LINK_NOT_AVAILABLE, "/link")
    assert resolve_placement(bundled(), CardChoice(card="rtx-4090", count=2, link=Link.PCIE)).link is Link.PCIE


@pytest.mark.parametrize("card", ["rtx-4090", CustomCard(memory_bytes=24 * GIB)])
def test_no_more_is_occupied_than_there_is(card: str | CustomCard) -> None:
    """Other processes cannot hold more than the whole memory."""
    code, pointer = _refusal(CardChoice(card=card, occupied_bytes=25 * GIB))
    assert (code, pointer) == (FaultCode.OCCUPIED_BEYOND_MEMORY, "/occupied_bytes")
