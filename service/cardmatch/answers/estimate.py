"""Does it fit? The question of POST /estimate-vram."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.diffusion import DiffusionAnswer, diffusion_answer
from cardmatch.answers.encode import EncodeAnswer, encode_answer
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, ModelFacts, catalogue_facts, model_facts
from cardmatch.answers.model import ModelReference, Resolved, check_generates, resolve_model
from cardmatch.answers.pages import snapshot_of
from cardmatch.answers.pipeline import resolve_pipeline
from cardmatch.answers.placements import Cards, alternatives, in_fields_given, resolve_placements
from cardmatch.answers.training import Asked, TrainingAnswer, training_answer
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
from cardmatch.engine.terms.notice import Assumption, Notice, Question, QuestionCode
from cardmatch.engine.terms.units import Bytes
from cardmatch.text.language import Language
from cardmatch.text.summary import Load, Subject, estimate_summary
from cardmatch.text.words import all_assumed, asked, log_in_words, placement_in_words, reckoning_in_words, with_messages

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


class Estimate(msgspec.Struct, tag="inference", tag_field="kind", frozen=True, kw_only=True):
    """What serving needs, and what becomes of it on each placement."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    model: ModelFacts
    need: Need
    kv_cache: KvCache
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="The guides' 2 GB per billion parameters.")]
    placements: tuple[PlacementEstimate, ...]
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    engine_log: Annotated[LogReading | None, Meta(description="The log of the request beside the first placement.")]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


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
    asked_on = Asked(request.cards, others, request.priced_on)
    if isinstance(workload, Diffusion):
        pipeline = resolve_pipeline(world, request.model)
        return diffusion_answer(world, pipeline, workload, asked_on, language, today)
    model = resolve_model(world, request.model, str(workload.__struct_config__.tag))
    if isinstance(workload, Training):
        return training_answer(world, model, workload, asked_on, language, today)
    if isinstance(workload, Encode):
        return encode_answer(world, model, workload, asked_on, language, today)
    return _serving(world, request, workload, model, language, today)


def _serving(
    world: World, request: EstimateRequest, workload: Inference, model: Resolved, language: Language, today: dt.date
) -> Estimate:
    check_generates(model, "inference")
    _check_named(world, workload, model)
    figures = estimate_serving(
        model.architecture,
        model.checkpoint,
        workload,
        resolve_placements(world, request.cards),
        world.calibration.serving,
        alternatives=alternatives(world) if request.ways_to_fit else (),
        spread=model.spread,
        model=model.repository,
        published=model.published,
        explained=request.explain,
        find=lambda name: _named(world, name),
    )
    return _in_words(world, request, workload, model, figures, language, today)


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


def _in_words(
    world: World,
    request: EstimateRequest,
    workload: Inference,
    model: Resolved,
    figures: ServingEstimate,
    language: Language,
    today: dt.date,
) -> Estimate:
    return Estimate(
        summary=estimate_summary(
            Subject(model.name, is_size=model.size is not None),
            figures.need,
            Load(figures.concurrency, figures.mean_tokens),
            figures.placements,
            world.card_titles,
            language,
        ),
        model=model_facts(model, figures.parameters),
        need=figures.need,
        kv_cache=figures.kv_cache,
        rule_of_thumb_bytes=figures.rule_of_thumb_bytes,
        placements=tuple(
            [
                reckoning_in_words(placement_in_words(placement, world.card_titles, language), language)
                for placement in figures.placements
            ]
        ),
        assumptions=all_assumed(_assumptions(request, model, figures, today), language),
        ask_next=ask_next(request, workload, model, language),
        notices=with_messages(model.notices + figures.notices, language),
        engine_log=log_in_words(figures.engine_log, world.card_titles, language),
        catalogue=catalogue_facts(world),
        priced_on=request.priced_on or today,
        release=__version__,
    )


def _assumptions(
    request: EstimateRequest, model: Resolved, figures: ServingEstimate, today: dt.date
) -> tuple[Assumption, ...]:
    own = []
    if request.cards is None:
        own.append(Assumption(pointer="/cards", value=len(figures.placements)))
    if request.priced_on is None:
        own.append(Assumption(pointer="/priced_on", value=today.isoformat()))
    return (*model.assumptions, *figures.assumptions, *own)


def ask_next(request: EstimateRequest, workload: Inference, model: Resolved, language: Language) -> Question | None:
    """The first fact that is missing, in the order of how much it can move the answer."""
    mean_missing = workload.mean_tokens_per_request is None and (workload.concurrency or 1) > 1
    missing = (
        (QuestionCode.MODEL, "/model", model.size is not None),
        (QuestionCode.CONCURRENCY, "/workload/concurrency", workload.concurrency is None),
        (QuestionCode.CONTEXT_TOKENS, "/workload/context_tokens", workload.context_tokens is None),
        (QuestionCode.MEAN_TOKENS_PER_REQUEST, "/workload/mean_tokens_per_request", mean_missing),
        (QuestionCode.CARDS, "/cards", request.cards is None),
    )
    for code, pointer, absent in missing:
        if absent:
            return asked(Question(code=code, pointer=pointer), language)
    return None
