"""GET /pipelines/{id}: all that the catalogue knows of one image or video pipeline."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.pages import snapshot_of
from cardmatch.answers.pipeline import resolve_pipeline
from cardmatch.catalogue.models import ModelId
from cardmatch.catalogue.world import World
from cardmatch.engine.models.diffusion.component import Guidance, Medium, Named, total_parameters
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Invalid
from cardmatch.engine.terms.units import Parameters
from cardmatch.text.language import Language

Names = Annotated[tuple[str, ...], Meta(description="Everyday names, and other repositories of the same pipeline.")]


class PipelineQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which pipeline to show."""

    id: Annotated[str, Meta(min_length=1, max_length=200, description="A pipeline's id or any name that it goes by.")]
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class ComponentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One component of a pipeline: what it does, how large it is, and where that was read."""

    name: Annotated[str, Meta(description="As the pipeline loads it.")]
    part: Annotated[str, Meta(description="unet, transformer, text_encoder, autoencoder or extra.")]
    parameters: Parameters
    basis: Basis
    source: Annotated[str, Meta(description="Where the figures were read.")]


class PipelineAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One pipeline: its components with their sources, what it makes when nothing else is said, its names."""

    id: ModelId
    title: Annotated[str, Meta(description="What people call it.")]
    medium: Medium
    parameters: Annotated[Parameters, Meta(description="Of all components.")]
    components: Annotated[tuple[ComponentFacts, ...], Meta(description="In the order in which they run.")]
    guidance: Guidance
    width_pixels: Annotated[int, Meta(ge=16, le=16_384, description="Of a picture, when nothing else is said.")]
    height_pixels: Annotated[int, Meta(ge=16, le=16_384, description="Of a picture, when nothing else is said.")]
    frames: Annotated[int, Meta(ge=1, le=4096, description="Of a video, when nothing else is said.")]
    denoise_steps: Annotated[int, Meta(ge=1, le=10_000, description="When nothing else is said.")]
    precision: Annotated[str, Meta(description="Number format that it is published in.")]
    names: Names
    repository: Annotated[str, Meta(description="Where diffusers loads it from.")]
    catalogue: CatalogueFacts
    release: str


def show_pipeline(world: World, query: PipelineQuery) -> PipelineAnswer:
    """All that the catalogue knows of one pipeline. Raises Invalid at /id where the name is unknown."""
    world = snapshot_of(world, query.catalogue_version, None)
    try:
        found = resolve_pipeline(world, query.id).id
    except Invalid as unknown:
        raise unknown.moved("/model", "/id") from None
    row = world.pipelines.rows[found or query.id]
    made = row.pipeline
    return PipelineAnswer(
        id=row.id,
        title=row.title,
        medium=made.medium,
        parameters=total_parameters(made),
        components=tuple([_component(named) for named in made.components]),
        guidance=made.guidance,
        width_pixels=made.width_pixels,
        height_pixels=made.height_pixels,
        frames=made.frames,
        denoise_steps=made.steps,
        precision=made.precision,
        names=row.names,
        repository=row.repository or row.id,
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def _component(named: Named) -> ComponentFacts:
    return ComponentFacts(
        name=named.name,
        part=str(named.component.__struct_config__.tag),
        parameters=named.component.parameters,
        basis=named.basis,
        source=named.source,
    )
