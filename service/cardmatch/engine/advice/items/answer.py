"""The answer for work counted in pictures, texts or recordings, from the search to the plan that verifies it."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.answer import NotChosen, Recommended, RecommendedOption
from cardmatch.engine.advice.bill import Ledger
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.conditions import conditions
from cardmatch.engine.advice.counsel import Ground, counsel
from cardmatch.engine.advice.excluded import Judge
from cardmatch.engine.advice.items.bench import Bench
from cardmatch.engine.advice.items.option import option
from cardmatch.engine.advice.items.plan import plan
from cardmatch.engine.advice.items.search import search_copies
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Market, market
from cardmatch.engine.advice.own import own_offers
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Objective, OffersMode, Wanted
from cardmatch.engine.advice.recommend import Shelf, left_out, possible
from cardmatch.engine.advice.search import Found
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode

_OF_LANGUAGE_MODELS = frozenset({NoticeCode.NO_FP8, NoticeCode.FP8_SCALED, NoticeCode.FP8_PLAIN})
"""Formats of pictures save memory only: their products are made in 16 bits."""


class Sale(NamedTuple):
    """What can be had under the conditions of a request, and the book that bills are made from."""

    market: Market
    ledger: Ledger


def on_sale(wanted: Wanted, shelf: Shelf, presets: Presets, priced_on: dt.date) -> Sale:
    """The offers for *wanted*. Raises Invalid where own offers share a name."""
    own = own_offers(wanted.offers, priced_on)
    offers = dict(own.offers) if wanted.offers_mode is OffersMode.ONLY else {**shelf.offers, **own.offers}
    found = market(offers.values(), own.stock, shelf.providers, conditions(wanted, shelf.countries), priced_on)
    costs, hours = shelf.ownership_costs, presets.hours_per_month
    return Sale(found, Ledger(offers, shelf.providers, shelf.ownership, costs, priced_on, hours))


def objective_of(wanted: Wanted, demand: Demand) -> tuple[Objective, tuple[Assumption, ...]]:
    """As asked, else what a month of the load costs, or a unit of the work."""
    if wanted.objective is not None:
        return wanted.objective, ()
    loaded = demand.peak_rate is not None or demand.concurrency is not None
    found = Objective.COST_PER_MONTH if loaded else Objective.COST_PER_UNIT
    return found, (Assumption(pointer="/objective", value=found.value),)


def answered(bench: Bench) -> Recommended:
    """The options of *bench*, best first, what was left out and why, and the rest of the answer."""
    shared = bench.copies
    found = search_copies(shared, bench.shelf.cards, bench.market)
    options = tuple([option(bench, choice, rank, found.considered) for rank, choice in enumerate(found.options, 1)])
    rows, nearest = _left_out(bench, found)
    return Recommended(
        options=options,
        not_chosen=rows,
        unpriced_matches=possible(bench.market.unpriced, shared.wanted, bench.shelf.cards),
        unknown_matches=possible(bench.market.unknown, shared.wanted, bench.shelf.cards),
        nearest=None if options else nearest,
        advice=_advice(bench, options, found),
        verification=plan(options[0], bench.trade.steps(found.options[0].tried, options[0].command))
        if options
        else None,
        assumptions=bench.assumptions,
        ask_next=bench.ask_next,
        notices=bench.notices,
        considered=found.considered,
    )


def _left_out(bench: Bench, found: Found) -> tuple[tuple[NotChosen, ...], NotChosen | None]:
    shared, ledger = bench.copies, bench.ledger
    best = found.options[0] if found.options else None
    return left_out(
        found,
        Judge(
            shared.wanted,
            bench.market,
            bench.shelf.providers,
            shared.engine,
            best,
            ledger.hours_per_month,
            ledger.priced_on,
            options=found.options,
            objective=shared.objective,
        ),
    )


def _advice(bench: Bench, options: tuple[RecommendedOption, ...], found: Found) -> tuple[Notice, ...]:
    shared = bench.copies
    ground = Ground(options, found.options, _freely(bench), shared.wanted, shared.demand, shared.presets)
    return tuple([each for each in counsel(ground) if each.code not in _OF_LANGUAGE_MODELS])


def _freely(bench: Bench) -> Choice | None:
    """The cheapest with the same conditions, but any card."""
    shared = bench.copies
    if not shared.wanted.constraints.cards:
        return None
    anything = msgspec.structs.replace(shared.wanted.constraints, cards=())
    least = Objective.COST_PER_UNIT if shared.demand.items is not None else Objective.COST_PER_HOUR
    wanted = msgspec.structs.replace(shared.wanted, constraints=anything, limit=1)
    found = search_copies(shared._replace(wanted=wanted, objective=least), bench.shelf.cards, bench.market)
    return found.options[0] if found.options else None
