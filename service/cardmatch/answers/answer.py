"""What the answers about every kind of workload share: their fields, and how those are filled in."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, ModelFacts, PipelineFacts, catalogue_facts
from cardmatch.answers.placements import Cards
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.answer import Need, PlacementEstimate
from cardmatch.engine.memory.diffusion.answer import DiffusionNeed, DiffusionPlacement
from cardmatch.engine.memory.encode.answer import EncodeNeed, EncodePlacement
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import TrainingNeed, TrainingPlacement
from cardmatch.engine.terms.notice import Assumption, Notice, Question, QuestionCode
from cardmatch.engine.terms.units import Bytes
from cardmatch.text.language import Language
from cardmatch.text.words import AnyPlacement, all_assumed, placement_in_words, question, with_messages

RULE_OF_THUMB_BYTES = 2
"""The guides' 2 GB of weights per billion parameters."""

Missing = tuple[QuestionCode, str, bool]
"""A question, the field that would answer it, and whether that field is absent."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed, and what becomes of it on each placement; both are of the workload's own kind."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    model: ModelFacts | PipelineFacts
    need: Need | TrainingNeed | DiffusionNeed | EncodeNeed
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="The guides' 2 GB per billion parameters.")]
    placements: tuple[PlacementEstimate | TrainingPlacement | DiffusionPlacement | EncodePlacement, ...]
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


class Asked(NamedTuple):
    """What a request says besides model and workload, and how it is answered.

    `alternatives` are cards that ways to fit may name; `today` stands for a date that is not given.
    """

    cards: Cards | None
    alternatives: tuple[Placement, ...]
    explain: bool
    priced_on: dt.date | None
    language: Language
    today: dt.date


def shared_fields(
    world: World,
    request: Asked,
    *,
    placements: tuple[AnyPlacement, ...],
    assumptions: tuple[Assumption, ...],
    notices: tuple[Notice, ...],
    missing: tuple[Missing, ...],
) -> dict[str, Any]:
    """The fields of an `Answer` that are filled in alike: placements, assumptions, notices and the next question in
    words, and where it all comes from. *missing* is in the order of how much each fact can move the answer.
    """
    language = request.language
    own: list[Assumption] = []
    if request.cards is None:
        own.append(Assumption(pointer="/cards", value=len(placements)))
    if request.priced_on is None:
        own.append(Assumption(pointer="/priced_on", value=request.today.isoformat()))
    every = (*missing, (QuestionCode.CARDS, "/cards", request.cards is None))
    absent = [(code, pointer) for code, pointer, is_absent in every if is_absent]
    return {
        "placements": tuple([placement_in_words(each, world.card_titles, language) for each in placements]),
        "assumptions": all_assumed((*assumptions, *own), language),
        "ask_next": question(*absent[0], language) if absent else None,
        "notices": with_messages(notices, language),
        "catalogue": catalogue_facts(world),
        "priced_on": request.priced_on or request.today,
        "release": __version__,
    }
