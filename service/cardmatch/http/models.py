"""GET /models and GET /models/{id}: the models that the catalogue knows."""

from __future__ import annotations

from cardmatch.answers.models import ModelAnswer, ModelQuery, ModelsPage, ModelsQuery, list_models, show_model
from cardmatch.http.operation import Operation

OPERATIONS = (
    Operation(
        method="GET",
        path="/models",
        name="listModels",
        tag="catalogue",
        summary="List models by words of their names.",
        description="Models, encoders and image or video pipelines whose names hold every word of the query, by id.",
        takes=ModelsQuery,
        gives=ModelsPage,
        answer=lambda world, query, _: list_models(world, query),
        example={"query": "llama 3.1 8b", "limit": 5},
        cached=True,
    ),
    Operation(
        method="GET",
        path="/models/{id}",
        name="showModel",
        tag="catalogue",
        summary="Show one model: architecture, parameters, cache, sources.",
        description="A model's architecture, parameters, cache, checkpoint, names, and where each fact was read.",
        takes=ModelQuery,
        gives=ModelAnswer,
        answer=lambda world, query, _: show_model(world, query),
        example={"id": "meta-llama/Llama-3.1-8B-Instruct"},
        cached=True,
    ),
)
