"""Does a picture fit? The question of POST /estimate-vram for workloads of kind `diffusion`."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, catalogue_facts
from cardmatch.answers.pipeline import ResolvedPipeline
from cardmatch.answers.placements import resolve_placements
from cardmatch.answers.training import Asked
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.diffusion.answer import DiffusionEstimate, DiffusionNeed, DiffusionPlacement
from cardmatch.engine.memory.diffusion.estimate import estimate_diffusion
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.models.diffusion.component import Medium
from cardmatch.engine.terms.notice import Assumption, Notice, Question, QuestionCode
from cardmatch.engine.terms.units import Bytes, Parameters
from cardmatch.text.language import Language
from cardmatch.text.summary import Subject, diffusion_summary
from cardmatch.text.words import all_assumed, asked, placement_in_words, with_messages

_RULE_OF_THUMB_BYTES = 2


class PipelineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The pipeline that was meant."""

    id: Annotated[str | None, Meta(description="Catalogue id; null for a pipeline given by its components.")]
    medium: Medium
    parameters: Parameters


class DiffusionAnswer(msgspec.Struct, tag="diffusion", tag_field="kind", frozen=True, kw_only=True):
    """What a pipeline needs, and what becomes of it on each placement."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    model: PipelineFacts
    need: DiffusionNeed
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="The guides' 2 GB per billion parameters.")]
    placements: tuple[DiffusionPlacement, ...]
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


def diffusion_answer(
    world: World, model: ResolvedPipeline, workload: Diffusion, request: Asked, language: Language, today: dt.date
) -> DiffusionAnswer:
    """Answer *request* in *language*. Raises Invalid with pointers into the request."""
    figures = estimate_diffusion(
        model.pipeline,
        workload,
        resolve_placements(world, request.cards, copies=True),
        world.calibration.diffusion,
        alternatives=request.alternatives,
    )
    return DiffusionAnswer(
        summary=diffusion_summary(Subject(model.name), workload.task.value, figures, world.card_titles, language),
        model=PipelineFacts(id=model.id, medium=model.pipeline.medium, parameters=figures.parameters),
        need=figures.need,
        rule_of_thumb_bytes=figures.parameters * _RULE_OF_THUMB_BYTES,
        placements=tuple([placement_in_words(each, world.card_titles, language) for each in figures.placements]),
        assumptions=all_assumed(_assumptions(request, model, figures, today), language),
        ask_next=_ask_next(request, workload, language),
        notices=with_messages(figures.notices, language),
        catalogue=catalogue_facts(world),
        priced_on=request.priced_on or today,
        release=__version__,
    )


def _assumptions(
    request: Asked, model: ResolvedPipeline, figures: DiffusionEstimate, today: dt.date
) -> tuple[Assumption, ...]:
    own = []
    if request.cards is None:
        own.append(Assumption(pointer="/cards", value=len(figures.placements)))
    if request.priced_on is None:
        own.append(Assumption(pointer="/priced_on", value=today.isoformat()))
    return (*model.assumptions, *figures.assumptions, *own)


def _ask_next(request: Asked, workload: Diffusion, language: Language) -> Question | None:
    """The first fact that is missing, in the order of how much it can move the answer."""
    missing = (
        (QuestionCode.PICTURE_SIZE, "/workload/width_pixels", workload.width_pixels is None),
        (QuestionCode.BATCH, "/workload/batch", workload.batch is None),
        (QuestionCode.CARDS, "/cards", request.cards is None),
    )
    for code, pointer, absent in missing:
        if absent:
            return asked(Question(code=code, pointer=pointer), language)
    return None
