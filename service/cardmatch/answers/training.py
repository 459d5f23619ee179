"""Does a training run fit? The question of POST /estimate-vram for workloads of kind `training`."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, ModelFacts, catalogue_facts, model_facts
from cardmatch.answers.model import Resolved
from cardmatch.answers.placements import Cards, resolve_placements
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import TrainingEstimate, TrainingNeed, TrainingPlacement
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.terms.notice import Assumption, Notice, Question, QuestionCode
from cardmatch.engine.terms.units import Bytes
from cardmatch.text.language import Language
from cardmatch.text.summary import Subject, training_summary
from cardmatch.text.words import all_assumed, asked, placement_in_words, with_messages


class TrainingAnswer(msgspec.Struct, tag="training", tag_field="kind", frozen=True, kw_only=True):
    """What training needs, and what becomes of it on each placement."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    model: ModelFacts
    need: TrainingNeed
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="16 bytes a parameter: mixed-precision Adam.")]
    placements: tuple[TrainingPlacement, ...]
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


class Asked(NamedTuple):
    """What a request says besides model and workload: its cards, cards that ways to fit may name, its date."""

    cards: Cards | None
    alternatives: tuple[Placement, ...]
    priced_on: dt.date | None


def training_answer(
    world: World, model: Resolved, workload: Training, request: Asked, language: Language, today: dt.date
) -> TrainingAnswer:
    """Answer *request* in *language*. Raises Invalid with pointers into the request."""
    figures = estimate_training(
        model.architecture,
        model.checkpoint,
        workload,
        resolve_placements(world, request.cards, copies=True),
        world.calibration.training,
        alternatives=request.alternatives,
        spread=model.spread,
    )
    subject = Subject(model.name, is_size=model.size is not None)
    return TrainingAnswer(
        summary=training_summary(subject, workload.method.value, figures, world.card_titles, language),
        model=model_facts(model, figures.parameters),
        need=figures.need,
        rule_of_thumb_bytes=figures.rule_of_thumb_bytes,
        placements=tuple([placement_in_words(each, world.card_titles, language) for each in figures.placements]),
        assumptions=all_assumed(_assumptions(request, model, figures, today), language),
        ask_next=_ask_next(request, model, workload, language),
        notices=with_messages(model.notices + figures.notices, language),
        catalogue=catalogue_facts(world),
        priced_on=request.priced_on or today,
        release=__version__,
    )


def _assumptions(request: Asked, model: Resolved, figures: TrainingEstimate, today: dt.date) -> tuple[Assumption, ...]:
    own = []
    if request.cards is None:
        own.append(Assumption(pointer="/cards", value=len(figures.placements)))
    if request.priced_on is None:
        own.append(Assumption(pointer="/priced_on", value=today.isoformat()))
    return (*model.assumptions, *figures.assumptions, *own)


def _ask_next(request: Asked, model: Resolved, workload: Training, language: Language) -> Question | None:
    """The first fact that is missing, in the order of how much it can move the answer."""
    missing = (
        (QuestionCode.MODEL, "/model", model.size is not None),
        (QuestionCode.SEQUENCE_TOKENS, "/workload/sequence_tokens", workload.sequence_tokens is None),
        (QuestionCode.MICRO_BATCH, "/workload/micro_batch", workload.micro_batch is None),
        (QuestionCode.FRAMEWORK, "/workload/framework", workload.framework is None),
        (QuestionCode.CARDS, "/cards", request.cards is None),
    )
    for code, pointer, absent in missing:
        if absent:
            return asked(Question(code=code, pointer=pointer), language)
    return None
