"""Every operation of the API, in the order of the documentation; one module per noun holds them."""

from __future__ import annotations

from cardmatch.http import cards, catalogue, cost, estimate, models, offers, pipelines, providers, recommend
from cardmatch.http.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *estimate.OPERATIONS,
    *recommend.OPERATIONS,
    *cost.OPERATIONS,
    *models.OPERATIONS,
    *pipelines.OPERATIONS,
    *cards.OPERATIONS,
    *offers.OPERATIONS,
    *providers.OPERATIONS,
    *catalogue.OPERATIONS,
)
