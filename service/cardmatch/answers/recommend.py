"""Which card? The question of POST /recommend."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, ModelFacts, catalogue_facts
from cardmatch.answers.model import ModelReference
from cardmatch.answers.pages import snapshot_of
from cardmatch.answers.presets import explained, filled_in
from cardmatch.answers.providers import check_providers
from cardmatch.answers.subjects import AnyWorkload, Topic, figures_of, topic_of, usual_workload
from cardmatch.catalogue.names.cards import resolve_card
from cardmatch.catalogue.names.spelling import key
from cardmatch.catalogue.world import World
from cardmatch.engine.advice.answer import NotChosen, Possible, Recommended, RecommendedOption, Verification
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Assumption, Notice, Question
from cardmatch.text.language import Language
from cardmatch.text.recommend_summary import recommend_summary
from cardmatch.text.words import all_assumed, asked, with_message, with_messages

SERVING = Inference()
"""What is meant where no workload is given; that very object, so that a preset may give one instead."""


class RecommendRequest(Wanted, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, a workload, and what is wanted of the machine that runs it."""

    model: ModelReference
    workload: AnyWorkload = SERVING
    language: Language | None = None
    priced_on: dt.date | None = None
    catalogue_version: CatalogueVersion | None = None


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """Options best first, every card left out with its reason, and what would settle what is not known."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    model: ModelFacts
    options: tuple[RecommendedOption, ...]
    not_chosen: tuple[NotChosen, ...]
    unpriced_matches: tuple[Possible, ...]
    unknown_matches: tuple[Possible, ...]
    nearest: NotChosen | None
    advice: tuple[Notice, ...]
    verification: Verification | None
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


def recommendation(world: World, request: RecommendRequest, language: Language, today: dt.date) -> Recommendation:
    """Answer *request* from *world* in *language*. Raises Invalid with pointers into the request."""
    world = snapshot_of(world, request.catalogue_version, None)
    priced_on = request.priced_on or today
    stated = request.workload if request.workload is not SERVING else usual_workload(world, request.model)
    wanted, found = filled_in(request, stated)
    _check_effect(wanted)
    topic = topic_of(world, request.model, wanted.workload, stated=request.workload is not SERVING)
    wanted = named(world, wanted)

    def figures_on(cards: tuple[str, ...] | None) -> Recommended:
        asked = wanted if cards is None else _only(wanted, cards)
        return figures_of(world, topic, asked.workload, asked, priced_on)

    figures = explained(figures_on(None), request, found, figures_on)
    return _in_words(world, request, topic, figures, language, priced_on)


def _check_effect(request: RecommendRequest) -> None:
    """Raises Invalid where a field would change nothing, so that nobody relies on it."""
    workload = request.workload
    works = request.job is not None or (isinstance(workload, Training) and workload.data is not None)
    if request.constraints.max_usd_total is not None and not works:
        raise refusal(FaultCode.NEEDS_FIELD, "/constraints/max_usd_total", field="job")
    if request.spot is not None and not request.allow.spot:
        raise refusal(FaultCode.NEEDS_FIELD, "/spot", field="allow.spot")


def _only(request: RecommendRequest, cards: tuple[str, ...]) -> RecommendRequest:
    """The best of *cards* for the same request."""
    constraints = msgspec.structs.replace(request.constraints, cards=cards)
    return msgspec.structs.replace(request, constraints=constraints, limit=1)


def named(world: World, request: RecommendRequest) -> RecommendRequest:
    """*request* with its cards by their ids. Raises Invalid where a card or a provider is not known."""
    asked_for = request.constraints
    for field in ("providers", "exclude_providers"):
        check_providers(world, getattr(asked_for, field), f"/constraints/{field}")
    chosen = {
        field: _cards(world, getattr(asked_for, field), f"/constraints/{field}") for field in ("cards", "exclude_cards")
    }
    offers = []
    for index, offer in enumerate(request.offers):
        (card,) = _cards(world, (offer.card,), f"/offers/{index}/card", listed=False)
        offers.append(msgspec.structs.replace(offer, card=card))
    constraints = msgspec.structs.replace(asked_for, **chosen)
    return msgspec.structs.replace(request, constraints=constraints, offers=tuple(offers))


def _cards(world: World, names: tuple[str, ...], pointer: str, *, listed: bool = True) -> tuple[str, ...]:
    """The ids of *names*; in a list of conditions the name of a family stands for all its cards."""
    found: list[str] = []
    for index, name in enumerate(names):
        family = world.families.get(key(name)) if listed and name not in world.cards else None
        if family is not None:
            found += family
            continue
        try:
            found.append(resolve_card(world, name).id)
        except Invalid as invalid:
            raise invalid.under(f"{pointer}/{index}" if listed else pointer) from None
    return tuple(found)


def _in_words(
    world: World,
    request: RecommendRequest,
    topic: Topic,
    figures: Recommended,
    language: Language,
    priced_on: dt.date,
) -> Recommendation:
    assumptions = (*topic.assumptions, *figures.assumptions)
    if request.priced_on is None:
        assumptions = (*assumptions, Assumption(pointer="/priced_on", value=priced_on.isoformat()))
    return Recommendation(
        summary=recommend_summary(figures, world.card_titles, language, priced_on),
        model=topic.facts,
        options=tuple([_option_in_words(option, language) for option in figures.options]),
        not_chosen=tuple([_left_in_words(row, language) for row in figures.not_chosen]),
        unpriced_matches=figures.unpriced_matches,
        unknown_matches=figures.unknown_matches,
        nearest=None if figures.nearest is None else _left_in_words(figures.nearest, language),
        advice=with_messages(figures.advice, language),
        verification=figures.verification,
        assumptions=all_assumed(assumptions, language),
        ask_next=None if figures.ask_next is None else asked(figures.ask_next, language),
        notices=with_messages(topic.notices + figures.notices, language),
        catalogue=catalogue_facts(world),
        priced_on=priced_on,
        release=__version__,
    )


def _option_in_words(option: RecommendedOption, language: Language) -> RecommendedOption:
    cost = option.cost
    if cost is not None and cost.notices:
        cost = msgspec.structs.replace(cost, notices=with_messages(cost.notices, language))
    return msgspec.structs.replace(
        option,
        cost=cost,
        reasons=with_messages(option.reasons, language),
        cautions=with_messages(option.cautions, language),
    )


def _left_in_words(row: NotChosen, language: Language) -> NotChosen:
    return msgspec.structs.replace(row, reason=with_message(row.reason, language))
