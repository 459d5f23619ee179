"""What does it cost? The question of POST /cost."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.pages import snapshot_of
from cardmatch.answers.throughput import predictor
from cardmatch.catalogue.names.cards import resolve_card
from cardmatch.catalogue.names.near import nearest
from cardmatch.catalogue.world import World
from cardmatch.engine.money.answer import CostFigures, OptionCost, SweepFigures
from cardmatch.engine.money.cost import cost as reckon
from cardmatch.engine.money.option import Option
from cardmatch.engine.money.price import OfferPrice
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption, Notice, Question
from cardmatch.text.cost_summary import cost_summary
from cardmatch.text.language import Language
from cardmatch.text.words import all_assumed, asked, with_messages

Labels = Annotated[tuple[str, ...], Meta(description="Labels, best first.")]


class CostRequest(CostQuestion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options and the work to compare them on."""

    language: Language | None = None
    priced_on: dt.date | None = None
    catalogue_version: CatalogueVersion | None = None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What the work costs with each option, and which option is best."""

    summary: Annotated[str, Meta(description="Two or three sentences with the figures.")]
    options: tuple[OptionCost, ...]
    rank_by_hourly_rate: Labels
    rank_by_cost: Labels
    sweep: SweepFigures | None
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


def cost(world: World, request: CostRequest, language: Language, today: dt.date) -> Cost:
    """Answer *request* from *world* in *language*. Raises Invalid with pointers into the request."""
    world = snapshot_of(world, request.catalogue_version, None)
    question = msgspec.structs.replace(request, options=_named(world, request.options))
    priced_on = request.priced_on or today
    figures = reckon(
        question,
        offers=world.offers,
        providers=world.providers,
        ownership=world.ownership,
        ownership_costs=world.ownership_costs,
        priced_on=priced_on,
        predict=predictor(world, question.work, question.options),
    )
    return _in_words(world, request, figures, language, priced_on)


def _named(world: World, options: tuple[Option, ...]) -> tuple[Option, ...]:
    """*options* with cards by their ids. Raises Invalid where a card or an offer is not known."""
    found = []
    for index, option in enumerate(options):
        price = option.price
        if isinstance(price, OfferPrice) and price.offer not in world.offers:
            raise Invalid(
                Fault(
                    code=FaultCode.UNKNOWN_OFFER,
                    pointer=f"/options/{index}/price/offer",
                    params={"name": price.offer},
                    suggestions=nearest(price.offer, world.offers),
                )
            )
        if option.card is None or option.card in world.cards:
            found.append(option)
            continue
        try:
            card = resolve_card(world, option.card)
        except Invalid as invalid:
            raise invalid.under(f"/options/{index}/card") from None
        found.append(msgspec.structs.replace(option, card=card.id))
    return tuple(found)


def _in_words(world: World, request: CostRequest, figures: CostFigures, language: Language, priced_on: dt.date) -> Cost:
    assumptions = figures.assumptions
    if request.priced_on is None:
        assumptions = (*assumptions, Assumption(pointer="/priced_on", value=priced_on.isoformat()))
    return Cost(
        summary=cost_summary(request.work, figures, language),
        options=tuple([_option_in_words(option, language) for option in figures.options]),
        rank_by_hourly_rate=figures.rank_by_hourly_rate,
        rank_by_cost=figures.rank_by_cost,
        sweep=figures.sweep,
        assumptions=all_assumed(assumptions, language),
        ask_next=asked(figures.ask_next, language) if figures.ask_next is not None else None,
        notices=with_messages(figures.notices, language),
        catalogue=catalogue_facts(world),
        priced_on=priced_on,
        release=__version__,
    )


def _option_in_words(option: OptionCost, language: Language) -> OptionCost:
    if not option.notices:
        return option
    return msgspec.structs.replace(option, notices=with_messages(option.notices, language))
