"""Does an encoder fit? The question of POST /estimate-vram for workloads of kind `encode`."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, ModelFacts, catalogue_facts, model_facts
from cardmatch.answers.model import Resolved
from cardmatch.answers.placements import resolve_placements
from cardmatch.answers.training import Asked
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.encode.answer import EncodeEstimate, EncodeNeed, EncodePlacement
from cardmatch.engine.memory.encode.estimate import estimate_encode
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.terms.notice import Assumption, Notice, Question, QuestionCode
from cardmatch.engine.terms.units import Bytes
from cardmatch.text.language import Language
from cardmatch.text.summary import Subject, encode_summary
from cardmatch.text.words import all_assumed, asked, placement_in_words, with_messages

_RULE_OF_THUMB_BYTES = 2


class EncodeAnswer(msgspec.Struct, tag="encode", tag_field="kind", frozen=True, kw_only=True):
    """What an encoder needs, and what becomes of it on each placement."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    model: ModelFacts
    need: EncodeNeed
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="The guides' 2 GB per billion parameters.")]
    placements: tuple[EncodePlacement, ...]
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


def encode_answer(
    world: World, model: Resolved, workload: Encode, request: Asked, language: Language, today: dt.date
) -> EncodeAnswer:
    """Answer *request* in *language*. Raises Invalid with pointers into the request."""
    figures = estimate_encode(
        model.architecture,
        model.checkpoint,
        workload,
        resolve_placements(world, request.cards, copies=True),
        world.calibration.diffusion,
        alternatives=request.alternatives,
    )
    return EncodeAnswer(
        summary=encode_summary(Subject(model.name), workload.task.value, figures, world.card_titles, language),
        model=model_facts(model, figures.parameters),
        need=figures.need,
        rule_of_thumb_bytes=figures.parameters.total * _RULE_OF_THUMB_BYTES,
        placements=tuple([placement_in_words(each, world.card_titles, language) for each in figures.placements]),
        assumptions=all_assumed(_assumptions(request, model, figures, today), language),
        ask_next=_ask_next(request, model, workload, language),
        notices=with_messages(model.notices + figures.notices, language),
        catalogue=catalogue_facts(world),
        priced_on=request.priced_on or today,
        release=__version__,
    )


def _assumptions(request: Asked, model: Resolved, figures: EncodeEstimate, today: dt.date) -> tuple[Assumption, ...]:
    own = []
    if request.cards is None:
        own.append(Assumption(pointer="/cards", value=len(figures.placements)))
    if request.priced_on is None:
        own.append(Assumption(pointer="/priced_on", value=today.isoformat()))
    return (*model.assumptions, *figures.assumptions, *own)


def _ask_next(request: Asked, model: Resolved, workload: Encode, language: Language) -> Question | None:
    """The first fact that is missing, in the order of how much it can move the answer."""
    unsaid = workload.sequence_tokens is None and workload.task is not EncodeTask.SPEECH
    missing = (
        (QuestionCode.MODEL, "/model", model.size is not None),
        (QuestionCode.BATCH, "/workload/batch", workload.batch is None),
        (QuestionCode.SEQUENCE_TOKENS, "/workload/sequence_tokens", unsaid),
        (QuestionCode.CARDS, "/cards", request.cards is None),
    )
    for code, pointer, absent in missing:
        if absent:
            return asked(Question(code=code, pointer=pointer), language)
    return None
