"""What every answer says of the catalogue that it was made from."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.answers.model import Resolved
from cardmatch.catalogue.world import World
from cardmatch.engine.models.diffusion.component import Medium
from cardmatch.engine.models.parameters import ParameterCounts
from cardmatch.engine.money.amounts import Day
from cardmatch.engine.terms.units import Parameters

CatalogueVersion = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{8,64}$(?!\n)",
        description="Version of the catalogue to answer from, or its first digits; GET /catalogue lists those kept.",
    ),
]


PIPELINE = "diffusion"
"""What stands for the architecture of a pipeline, which has several."""


class CatalogueFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that the answer was made from."""

    version: Annotated[str, Meta(description="SHA-256 of the snapshot; `catalogue_version` pins it.")]
    as_of: Day


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The model that was meant."""

    id: Annotated[str | None, Meta(description="Id; null for a model given by its description.")]
    revision: Annotated[
        str | None, Meta(description="Commit at which a hub was asked; null for a model of the catalogue.")
    ] = None
    architecture: Annotated[str, Meta(description="The model_type of its configuration; `diffusion` for a pipeline.")]
    parameters: Parameters
    active_parameters: Annotated[Parameters, Meta(description="Parameters that serve one token, embeddings included.")]


class PipelineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The image or video pipeline that was meant."""

    id: Annotated[str | None, Meta(description="Catalogue id; null for a pipeline given by its components.")]
    medium: Medium
    parameters: Parameters


def model_facts(model: Resolved, counts: ParameterCounts) -> ModelFacts:
    """The facts of *model*, whose parameters are *counts*."""
    return ModelFacts(
        id=model.id,
        revision=model.revision,
        architecture=model.architecture.family,
        parameters=counts.total,
        active_parameters=counts.active,
    )


def catalogue_facts(world: World) -> CatalogueFacts:
    """The facts of *world*."""
    return CatalogueFacts(version=world.version, as_of=world.as_of)
