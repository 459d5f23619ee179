"""GET /pipelines/{id}: one image or video pipeline; GET /models lists them."""

from __future__ import annotations

from cardmatch.answers.pipelines import PipelineAnswer, PipelineQuery, show_pipeline
from cardmatch.http.operation import Operation

OPERATIONS = (
    Operation(
        method="GET",
        path="/pipelines/{id}",
        name="showPipeline",
        tag="catalogue",
        summary="Show one image or video pipeline: components, sizes, sources.",
        description="A pipeline's components, what it makes by default, its names, and where each fact was read.",
        takes=PipelineQuery,
        gives=PipelineAnswer,
        answer=lambda world, query, _: show_pipeline(world, query),
        example={"id": "stabilityai/stable-diffusion-xl-base-1.0"},
        cached=True,
    ),
)
