"""GET /providers: who rents out cards."""

from __future__ import annotations

from cardmatch.answers.providers import ProvidersPage, ProvidersQuery, list_providers
from cardmatch.http.operation import Operation

OPERATIONS = (
    Operation(
        method="GET",
        path="/providers",
        name="listProviders",
        tag="catalogue",
        summary="List who rents out cards, and on which terms.",
        description="The providers that meet every condition, by id, with their terms and where they stand.",
        takes=ProvidersQuery,
        gives=ProvidersPage,
        answer=lambda world, query, _: list_providers(world, query),
        example={"server_country": ["eu"], "limit": 5},
        cached=True,
    ),
)
