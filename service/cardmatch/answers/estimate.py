"""Does it fit? The question of POST /estimate-vram."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.answers.answer import Answer, Asked, Missing, shared_fields
from cardmatch.answers.diffusion import DiffusionAnswer, diffusion_answer
from cardmatch.answers.encode import EncodeAnswer, encode_answer
from cardmatch.answers.facts import CatalogueVersion, ModelFacts, model_facts
from cardmatch.answers.model import ModelReference, Resolved, check_generates, resolve_model
from cardmatch.answers.pages import snapshot_of
from cardmatch.answers.pipeline import resolve_pipeline
from cardmatch.answers.placements import Cards, alternatives, in_fields_given, resolve_placements
from cardmatch.answers.training import TrainingAnswer, training_answer
from cardmatch.catalogue.guests import is_hub_id
from cardmatch.catalogue.names.models import resolve_model_name
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.answer import KvCache, Need, PlacementEstimate
from cardmatch.engine.memory.arguments.command import named_model
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.encode.workload import Encode
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.estimate import ServingEstimate, estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.logs.compare import LogReading
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import QuestionCode
from cardmatch.text.language import Language
from cardmatch.text.summary import Load, Subject, estimate_summary
from cardmatch.text.words import log_in_words

AnyWorkload = Inference | Training | Diffusion | Encode


class EstimateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, a workload and the cards to try it on; without cards, those of the buyers' guides."""

    model: ModelReference
    workload: AnyWorkload = Inference()
    cards: Cards | None = None
    ways_to_fit: Annotated[bool, Meta(description="Whether to look for changes that would make the job fit.")] = True
    explain: Annotated[bool, Meta(description="Whether to give each component's formula, numbers and source.")] = False
    language: Language | None = None
    priced_on: dt.date | None = None
    catalogue_version: CatalogueVersion | None = None


class Estimate(Answer, tag="inference", tag_field="kind", frozen=True, kw_only=True):
    """What serving needs, and what becomes of it on each placement."""

    model: ModelFacts
    need: Need
    placements: tuple[PlacementEstimate, ...]
    kv_cache: KvCache
    engine_log: Annotated[LogReading | None, Meta(description="The log of the request beside the first placement.")]


AnyEstimate = Estimate | TrainingAnswer | DiffusionAnswer | EncodeAnswer


def estimate_vram(world: World, request: EstimateRequest, language: Language, today: dt.date) -> AnyEstimate:
    """Answer *request* from *world* in *language*. Raises Invalid with pointers into the request."""
    try:
        return _answered(snapshot_of(world, request.catalogue_version, None), request, language, today)
    except Invalid as wrong:
        raise in_fields_given(wrong, request.cards) from None


def _answered(world: World, request: EstimateRequest, language: Language, today: dt.date) -> AnyEstimate:
    workload = request.workload
    others = alternatives(world) if request.ways_to_fit else ()
    asked = Asked(request.cards, others, request.explain, request.priced_on, language, today)
    if isinstance(workload, Diffusion):
        pipeline = resolve_pipeline(world, request.model)
        return diffusion_answer(world, pipeline, workload, asked)
    model = resolve_model(world, request.model, str(workload.__struct_config__.tag))
    if isinstance(workload, Training):
        return training_answer(world, model, workload, asked)
    if isinstance(workload, Encode):
        return encode_answer(world, model, workload, asked)
    return _serving(world, model, workload, asked)


def _serving(world: World, model: Resolved, workload: Inference, request: Asked) -> Estimate:
    check_generates(model, "inference")
    _check_named(world, workload, model)
    figures = estimate_serving(
        model.architecture,
        model.checkpoint,
        workload,
        resolve_placements(world, request.cards),
        world.calibration.serving,
        alternatives=request.alternatives,
        spread=model.spread,
        model=model.repository,
        published=model.published,
        explained=request.explain,
        find=lambda name: _named(world, name),
    )
    return _in_words(world, model, workload, request, figures)


def _check_named(world: World, workload: Inference, model: Resolved) -> None:
    """Refuse a command line that names another model than the request. Raises Invalid at /workload/engine/args."""
    words = getattr(workload.engine, "args", None)
    name = None if words is None or isinstance(workload.engine, Ollama) else named_model(words)
    if name is None or not is_hub_id(name) or model.id is None:
        return
    try:
        other = resolve_model_name(world.model_index, name).id
    except Invalid:
        return
    if other != model.id and name != model.repository:
        raise refusal(FaultCode.CONFLICTS_WITH, "/workload/engine/args", field="/model")


def _named(world: World, name: str) -> tuple[Architecture, Checkpoint]:
    """The model that a drafter's or a neighbour's name means."""
    found = resolve_model(world, name)
    return found.architecture, found.checkpoint


def _in_words(world: World, model: Resolved, workload: Inference, request: Asked, figures: ServingEstimate) -> Estimate:
    load, language = Load(figures.concurrency, figures.mean_tokens), request.language
    subject = Subject(model.name, is_size=model.size is not None)
    return Estimate(
        summary=estimate_summary(subject, figures.need, load, figures.placements, world.card_titles, language),
        model=model_facts(model, figures.parameters),
        need=figures.need,
        kv_cache=figures.kv_cache,
        rule_of_thumb_bytes=figures.rule_of_thumb_bytes,
        engine_log=log_in_words(figures.engine_log, world.card_titles, language),
        **shared_fields(
            world,
            request,
            placements=figures.placements,
            assumptions=model.assumptions + figures.assumptions,
            notices=model.notices + figures.notices,
            missing=_missing(model, workload),
        ),
    )


def _missing(model: Resolved, workload: Inference) -> tuple[Missing, ...]:
    mean_missing = workload.mean_tokens_per_request is None and (workload.concurrency or 1) > 1
    return (
        (QuestionCode.MODEL, "/model", model.size is not None),
        (QuestionCode.CONCURRENCY, "/workload/concurrency", workload.concurrency is None),
        (QuestionCode.CONTEXT_TOKENS, "/workload/context_tokens", workload.context_tokens is None),
        (QuestionCode.MEAN_TOKENS_PER_REQUEST, "/workload/mean_tokens_per_request", mean_missing),
    )
