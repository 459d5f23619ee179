"""GET /offers: the market."""

from __future__ import annotations

from cardmatch.answers.offers import OffersPage, OffersQuery, list_offers
from cardmatch.http.operation import Operation

OPERATIONS = (
    Operation(
        method="GET",
        path="/offers",
        name="listOffers",
        tag="catalogue",
        summary="List what machines cost, and where.",
        description=(
            "The offers that meet every condition, by id or by the price of the whole instance, a page at a time. "
            "A fact that nobody published never meets a condition."
        ),
        takes=OffersQuery,
        gives=OffersPage,
        answer=lambda world, query, _: list_offers(world, query),
        example={"card": ["rtx-4090"], "order": "price", "limit": 5},
        cached=True,
    ),
)
