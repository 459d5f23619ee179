"""GET /cards and GET /cards/{id}: the cards that there are."""

from __future__ import annotations

from cardmatch.answers.cards import CardAnswer, CardQuery, CardsPage, CardsQuery, list_cards, show_card
from cardmatch.http.operation import Operation

OPERATIONS = (
    Operation(
        method="GET",
        path="/cards",
        name="listCards",
        tag="catalogue",
        summary="List cards by memory, features and vendor.",
        description="The cards that meet every condition, by id, a page at a time.",
        takes=CardsQuery,
        gives=CardsPage,
        answer=lambda world, query, _: list_cards(world, query),
        example={"min_memory_gb": 80, "fp8": True},
        cached=True,
    ),
    Operation(
        method="GET",
        path="/cards/{id}",
        name="showCard",
        tag="catalogue",
        summary="Show one card: figures, sources, offers, cost of owning.",
        description="A card's figures with where each was read, how many offers hold it, and what owning one costs.",
        takes=CardQuery,
        gives=CardAnswer,
        answer=lambda world, query, _: show_card(world, query),
        example={"id": "rtx-4090"},
        cached=True,
    ),
)
