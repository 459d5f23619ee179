"""GET /catalogue: which snapshot answers, and which are kept."""

from __future__ import annotations

from cardmatch.answers.catalogue import CatalogueAnswer, CatalogueQuery, show_catalogue
from cardmatch.http.operation import Operation

OPERATIONS = (
    Operation(
        method="GET",
        path="/catalogue",
        name="showCatalogue",
        tag="catalogue",
        summary="Show which catalogue answers, and how fresh it is.",
        description=(
            "The snapshot that requests are answered from, what is in it and how fresh it is, and the earlier ones "
            "that `catalogue_version` may still pin."
        ),
        takes=CatalogueQuery,
        gives=CatalogueAnswer,
        answer=lambda world, query, _: show_catalogue(world, query),
        example={"language": "en"},
        cached=True,
    ),
)
