"""GET /models and GET /models/{id}: the models that the catalogue knows, and all that it knows of one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import PIPELINE, CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.model import encodes
from cardmatch.answers.pages import CursorText, Limit, Place, page, snapshot_of
from cardmatch.catalogue.models import ModelId, ModelRow, Origin, Verified
from cardmatch.catalogue.names.models import matching, names_of, resolve_model_name
from cardmatch.catalogue.pipelines import PipelineRow, matching_pipelines, named_pipeline
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.answer import CacheRow
from cardmatch.engine.memory.need import cache_row
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.diffusion.component import total_parameters
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.models.parameters import ParameterCounts, parameters
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.units import Bytes, Parameters
from cardmatch.text.language import Language

QueryText = Annotated[
    str,
    Meta(min_length=1, max_length=200, description="Words of the name, in any order.", examples=["llama 8b"]),
]


class WorkloadKind(StrEnum):
    """What a model is for: the `kind` of the workloads that it takes."""

    INFERENCE = "inference"
    ENCODE = "encode"
    DIFFUSION = "diffusion"


class ModelsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which models to list; conditions add up."""

    query: QueryText | None = None
    family: Annotated[str, Meta(max_length=64, description="The model_type of the configuration.")] | None = None
    workload: Annotated[
        WorkloadKind | None, Meta(description="What the models are for: chats, encoding, pictures and videos.")
    ] = None
    max_parameters: Parameters | None = None
    limit: Limit = 50
    cursor: CursorText | None = None
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class ModelSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a listing."""

    id: ModelId
    family: str
    parameters: Parameters
    active_parameters: Parameters
    format: Annotated[str, Meta(description="Number format of the published checkpoint.")]
    maximum_context_tokens: Annotated[int, Meta(ge=1, le=1 << 24)] | None
    verified: Verified
    workload: WorkloadKind


class ModelsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Models by id."""

    models: tuple[ModelSummary, ...]
    total: Annotated[int, Meta(ge=0, le=10**6, description="Models that match, on all pages.")]
    next_cursor: str | None
    catalogue: CatalogueFacts
    release: str


class ModelQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model to show."""

    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description="A model's id or any name that it goes by.",
            examples=["meta-llama/Llama-3.1-8B-Instruct", "qwen3 32b"],
        ),
    ]
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One model: its architecture, ready to be sent as `kind: architecture`, its sizes, names and sources."""

    id: ModelId
    parameters: ParameterCounts
    weights_bytes: Annotated[Bytes, Meta(description="The published checkpoint, multi-token prediction included.")]
    kv_cache: Annotated[tuple[CacheRow, ...], Meta(description="Cache by kind of layer, in 16 bits.")]
    architecture: Architecture
    checkpoint: Checkpoint
    names: Annotated[tuple[str, ...], Meta(description="Other repositories of the same model.")]
    origin: Origin
    verified: Verified
    published_parameters: Parameters | None
    source: str
    note: str
    catalogue: CatalogueFacts
    release: str


def list_models(world: World, query: ModelsQuery) -> ModelsPage:
    """The models that meet every condition of *query*. Raises Invalid with pointers into it."""
    world = snapshot_of(world, query.catalogue_version, query.cursor)
    named = matching(world.model_index, query.query) if query.query else None
    if named is not None and query.query:
        named |= matching_pipelines(world.pipelines, query.query)
    rows = [
        summary
        for summary in _summaries(world)
        if (named is None or summary.id in named)
        and (query.family is None or summary.family == query.family)
        and (query.workload is None or summary.workload is query.workload)
        and summary.parameters <= (query.max_parameters or summary.parameters)
    ]
    shown, next_cursor = page(world, rows, _place, limit=query.limit, cursor=query.cursor)
    return ModelsPage(
        models=shown,
        total=len(rows),
        next_cursor=next_cursor,
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def show_model(world: World, query: ModelQuery) -> ModelAnswer:
    """All that the catalogue knows of one model. Raises Invalid at /id where the name is unknown or ambiguous."""
    world = snapshot_of(world, query.catalogue_version, None)
    pipeline = named_pipeline(world.pipelines, query.id)
    if pipeline is not None:
        raise refusal(FaultCode.PIPELINE_ELSEWHERE, "/id", name=pipeline.id)
    try:
        row = world.models[resolve_model_name(world.model_index, query.id).id]
    except Invalid as unknown:
        raise unknown.under("/id") from None
    architecture = row.architecture
    return ModelAnswer(
        id=row.id,
        parameters=parameters(architecture),
        weights_bytes=sum(part.bytes for part in parts(architecture, row.checkpoint)),
        kv_cache=tuple(cache_row(each, KvFormat.BF16, architecture.state) for each in by_layer(architecture)),
        architecture=architecture,
        checkpoint=row.checkpoint,
        names=names_of(world.model_index, row.id),
        origin=row.origin,
        verified=row.verified,
        published_parameters=row.published_parameters,
        source=row.source,
        note=row.note,
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def _summaries(world: World) -> list[ModelSummary]:
    """Every model and pipeline by id."""
    found = [*map(_summary, world.models.values()), *map(_of_pipeline, world.pipelines.rows.values())]
    return sorted(found, key=lambda each: each.id)


def _of_pipeline(row: PipelineRow) -> ModelSummary:
    total = total_parameters(row.pipeline)
    return ModelSummary(
        id=row.id,
        family=PIPELINE,
        parameters=total,
        active_parameters=total,
        format=row.pipeline.precision,
        maximum_context_tokens=None,
        verified=Verified.NOTHING,
        workload=WorkloadKind.DIFFUSION,
    )


def _summary(row: ModelRow) -> ModelSummary:
    counts = parameters(row.architecture)
    return ModelSummary(
        id=row.id,
        family=row.architecture.family,
        parameters=counts.total,
        active_parameters=counts.active,
        format=row.checkpoint.format,
        maximum_context_tokens=row.architecture.maximum_context_tokens,
        verified=row.verified,
        workload=WorkloadKind.ENCODE if encodes(row.architecture) else WorkloadKind.INFERENCE,
    )


def _place(model: ModelSummary) -> Place:
    return False, 0.0, model.id
