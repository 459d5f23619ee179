"""GET /cards and GET /cards/{id}: the vocabulary, filtered, and all that is known of one card."""

from typing import Any

import pytest

from cardmatch.answers.cards import CardQuery, CardsQuery, list_cards, show_card
from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.card import Card, Ecc, Vendor
from cardmatch.engine.terms.fault import FaultCode, Invalid

WORLD = bundled()


def listed(**query: Any) -> list[str]:
    """The ids on one long page."""
    return [card.id for card in list_cards(WORLD, CardsQuery(**{"limit": 200, **query})).cards]


def test_all_cards_are_listed_by_id() -> None:
    """Without a condition the listing is the vocabulary."""
    assert listed() == list(WORLD.cards)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ({"vendor": Vendor.AMD}, lambda card: card.vendor == "amd"),
        ({"fp8": True}, lambda card: card.dense.fp8_tflops is not None),
        ({"fp8": False}, lambda card: card.dense.fp8_tflops is None),
        ({"mig": True, "nvlink": True}, lambda card: card.mig is not None and card.nvlink is not None),
        ({"ecc": Ecc.OPTIONAL}, lambda card: card.ecc == "optional"),
        ({"min_memory_gb": 80}, lambda card: card.memory_gb >= 80),
        ({"card": ("h100", "4090")}, lambda card: card.family in {"H100", "RTX 4090"}),
    ],
)
def test_conditions_add_up(query: dict[str, Any], holds: Any) -> None:
    """Compared with the data file, row by row."""
    rows = [card.id for card in WORLD.cards.values() if holds(card)]
    assert listed(**query) == rows
    assert 0 < len(rows) < len(WORLD.cards)


def test_one_card_is_shown_with_its_sources_and_its_market() -> None:
    """Every source key of the card has its publication; the count is that of its offers."""
    answer = show_card(WORLD, CardQuery(id="rtx-4090"))
    assert answer.card.memory_gb == 24
    assert set(answer.card.sources.values()) == answer.sources.keys()
    assert answer.offers == 21
    assert answer.ownership is not None
    assert answer.ownership.msrp_usd == 1599


def test_a_card_is_found_by_any_name_that_means_it_alone() -> None:
    """The path takes what people type; the answer names the id."""
    card: Card = show_card(WORLD, CardQuery(id="NVIDIA H100 80GB HBM3")).card
    assert card.id == "h100-sxm-80"


def test_a_name_of_several_cards_is_refused_at_the_path() -> None:
    """The suggestions are the cards that it could mean."""
    with pytest.raises(Invalid) as refusal:
        show_card(WORLD, CardQuery(id="h100"))
    (fault,) = refusal.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.AMBIGUOUS_CARD, "/id")
    assert "h100-nvl-94" in fault.suggestions
