"""The public call behind POST /recommend: which card, where, how many, in which formats, and why no other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.answer import NotChosen, Possible, Recommended, RecommendedOption
from cardmatch.engine.advice.bill import Ledger
from cardmatch.engine.advice.candidates import AS_PUBLISHED, engine_name, formats_of
from cardmatch.engine.advice.choice import Choice, loss_percent
from cardmatch.engine.advice.conditions import conditions, refused_card
from cardmatch.engine.advice.counsel import Ground, counsel
from cardmatch.engine.advice.describe import Named, described
from cardmatch.engine.advice.excluded import Judge, not_chosen
from cardmatch.engine.advice.load import Demand, demanded
from cardmatch.engine.advice.market import Market, Rejected, market
from cardmatch.engine.advice.own import own_offers
from cardmatch.engine.advice.pace import Paces, Sent
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Objective, OffersMode, Wanted
from cardmatch.engine.advice.reasked import Again, Model, Sold, by_card
from cardmatch.engine.advice.remarks import cautions, reasons
from cardmatch.engine.advice.search import Found, Quest, search
from cardmatch.engine.advice.slices import slice_notes
from cardmatch.engine.advice.trying import Trying
from cardmatch.engine.advice.verification import verification
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.estimate import notices_of
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import Spread
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.formats import DTYPE_BITS
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.ownership import Ownership, OwnershipCosts
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Question, QuestionCode, Severity, notice


class Shelf(NamedTuple):
    """Everything that is for sale, and what is known of who sells it where."""

    cards: Mapping[str, Card]
    offers: Mapping[str, Offer]
    providers: Mapping[str, Provider]
    countries: Mapping[str, Country]
    ownership: Mapping[str, Ownership]
    ownership_costs: OwnershipCosts


class Subject(NamedTuple):
    """The model, and how the request and a command line name it."""

    architecture: Architecture
    checkpoint: Checkpoint
    spread: Spread | None
    named: Named


def recommend(
    subject: Subject,
    workload: Inference,
    wanted: Wanted,
    shelf: Shelf,
    calibration: MemoryCalibration,
    presets: Presets,
    *,
    priced_on: dt.date,
    paces: Paces,
) -> Recommended:
    """The options for *workload*, best first. Raises Invalid with pointers into the request."""
    limit = subject.architecture.maximum_context_tokens
    asked = demanded(workload, wanted, presets, limit)
    job, assumptions = settle(asked.workload, subject.architecture, subject.checkpoint, subject.spread)
    shared = Trying(
        job=job,
        engine=asked.workload.engine,
        demand=asked.demand,
        calibration=calibration,
        presets=presets,
        paces=paces,
        offload=wanted.allow.offload,
    )
    wanted = _narrowed(wanted, workload)
    own = own_offers(wanted.offers, priced_on)
    offers = dict(own.offers) if wanted.offers_mode is OffersMode.ONLY else {**shelf.offers, **own.offers}
    on_sale = market(offers.values(), own.stock, shelf.providers, conditions(wanted, shelf.countries), priced_on)
    objective, objective_assumed = _objective(wanted, asked.demand)
    found = search(shared, shelf.cards, on_sale, wanted, objective)
    ledger = Ledger(offers, shelf.providers, shelf.ownership, shelf.ownership_costs, priced_on, presets.hours_per_month)
    sold = Sold(
        shelf.cards,
        by_card({**shelf.offers, **own.offers}.values()),
        shelf.providers,
        shelf.countries,
        priced_on,
        on_sale,
    )
    model = Model(subject.architecture, subject.checkpoint, subject.spread)
    again = Again(Quest(shared, wanted, objective), workload, model, sold, [])
    bench = _Bench(shared, wanted, shelf, on_sale, ledger, objective, again)
    notes = (*assumptions, *asked.assumptions, *objective_assumed)
    return _answered(bench, found, subject, notes, demanded_load=wanted.load is not None or wanted.job is not None)


class _Bench(NamedTuple):
    """What the parts of an answer are made from."""

    shared: Trying
    wanted: Wanted
    shelf: Shelf
    market: Market
    ledger: Ledger
    objective: Objective
    again: Again


def _answered(
    bench: _Bench, found: Found, subject: Subject, notes: tuple[Assumption, ...], *, demanded_load: bool
) -> Recommended:
    shared, wanted = bench.shared, bench.wanted
    options = tuple(_option(bench, subject, choice, rank, found) for rank, choice in enumerate(found.options, 1))
    rows, nearest = left_out(found, _judge(bench, found))
    freely = _freely(bench, found.options[0]) if wanted.constraints.cards and options else None
    sent = _sent(shared, found.options[0]) if options else None
    ground = Ground(options, found.options, freely, wanted, shared.demand, shared.presets, sent)
    return Recommended(
        options=options,
        not_chosen=rows,
        unpriced_matches=possible(bench.market.unpriced, wanted, bench.shelf.cards),
        unknown_matches=possible(bench.market.unknown, wanted, bench.shelf.cards),
        nearest=None if options else nearest,
        advice=counsel(ground),
        verification=verification(options[0], shared.engine, shared.demand, subject.named.command_name)
        if options
        else None,
        assumptions=tuple([note for note in notes if note.pointer not in _FROM_LOAD or not demanded_load]),
        ask_next=None if demanded_load else Question(code=QuestionCode.LOAD, pointer="/load"),
        notices=(*notices_of(shared.job), *_of_tenants(shared.demand)),
        considered=found.considered,
    )


def _of_tenants(demand: Demand) -> tuple[Notice, ...]:
    if demand.tenants == 1 or not demand.stated:
        return ()
    return (notice(NoticeCode.LOAD_PER_TENANT, Severity.INFO, replicas=demand.tenants),)


_FROM_LOAD = frozenset({"/workload/context_tokens", "/workload/concurrency", "/workload/mean_tokens_per_request"})


def _option(bench: _Bench, subject: Subject, choice: Choice, rank: int, found: Found) -> RecommendedOption:
    option = described(bench.shared, choice, rank, subject.named, bench.ledger)
    return msgspec.structs.replace(
        option,
        reasons=reasons(option, choice, bench.objective, found.considered),
        cautions=(
            *cautions(option, choice, bench.wanted.constraints, bench.shared.presets, bench.shelf.countries),
            *slice_notes(bench.shared, bench.wanted, choice),
        ),
    )


_NOT_WANTED = frozenset({"cards", "exclude_cards"})


def _remote(row: NotChosen) -> int:
    """Of cards that were not tried: those that lack but a price or a fact come near, those nobody asked about least."""
    if row.reason.code is NoticeCode.OFFERS_WITHOUT_PRICE:
        return 0
    if row.reason.code is NoticeCode.OFFERS_LACK_FACT:
        return 1
    return 3 if row.reason.params.get("field") in _NOT_WANTED else 2


def _lacks_a_price(row: NotChosen) -> bool:
    """Whether the card would be an option on offers that meet every condition, were their price known."""
    return row.reason.code is NoticeCode.OFFERS_WITHOUT_PRICE and bool(row.changes)


def left_out(found: Found, judge: Judge) -> tuple[tuple[NotChosen, ...], NotChosen | None]:
    """Every card that is in no option, and the one that came nearest to being in one."""
    shown = frozenset(choice.tried.form.card.id for choice in found.options)
    rows = not_chosen(judge, found.fates, shown)
    nearest = min(
        rows, key=lambda row: (not _lacks_a_price(row[1]), not row[1].changes, row[0], _remote(row[1])), default=None
    )
    return tuple([row for _, row in rows]), nearest[1] if nearest else None


def _judge(bench: _Bench, found: Found) -> Judge:
    return Judge(
        bench.wanted,
        bench.market,
        bench.shelf.providers,
        engine_name(bench.shared.engine),
        found.options[0] if found.options else None,
        bench.shared.presets.hours_per_month,
        bench.ledger.priced_on,
        bench.again.ways,
        bench.again.workload,
        found.options,
        bench.objective,
    )


def _sent(shared: Trying, choice: Choice) -> Sent | None:
    """What the GPUs of a copy send each other in a step at the load."""
    found, links, demand = choice.tried, shared.paces.links, shared.demand
    if found.form.gpus == 1 or links is None or found.job is None or found.size is None:
        return None
    lengths = demand.prompt_tokens, demand.output_tokens
    return links(found.job, shared.engine, found.form.card, found.placement, *lengths, found.size.batch)


def as_good(wanted: Wanted, shared: Trying, best: Choice) -> tuple[str, ...] | None:
    """The formats that the search may use and that lose no more than that of *best* does; null: the published one."""
    presets = shared.presets
    if wanted.allow.weights is None and shared.job.checkpoint.format not in DTYPE_BITS:
        return None
    formats = wanted.allow.weights or (AS_PUBLISHED, *formats_of(shared.engine, presets))
    lost = loss_percent(best.tried.form.weights, presets)
    return tuple([name for name in formats if loss_percent(name, presets) <= lost])


def _freely(bench: _Bench, best: Choice) -> Choice | None:
    """The best with the same load, conditions and accuracy, but any card."""
    constraints = msgspec.structs.replace(bench.wanted.constraints, cards=())
    weights = as_good(bench.wanted, bench.shared, best)
    allow = msgspec.structs.replace(bench.wanted.allow, weights=weights)
    wanted = msgspec.structs.replace(bench.wanted, constraints=constraints, allow=allow, limit=1)
    least = Objective.COST_PER_HOUR if bench.shared.demand.items is None else Objective.COST_PER_UNIT
    found = search(bench.shared, bench.shelf.cards, bench.market, wanted, least)
    return found.options[0] if found.options else None


def possible(rows: tuple[Rejected, ...], wanted: Wanted, cards: Mapping[str, Card]) -> tuple[Possible, ...]:
    """Offers that might qualify, as the answer lists them; a card that is known meets the conditions on cards."""
    return tuple(
        [
            Possible(
                offer=row.offer.id,
                provider=row.offer.provider,
                card=row.offer.card,
                card_candidates=row.offer.card_candidates,
                unknown=row.unknown,
                source=row.offer.source,
            )
            for row in rows
            if _may_be(row.offer, wanted, cards)
        ]
    )


def _may_be(offer: Offer, wanted: Wanted, cards: Mapping[str, Card]) -> bool:
    """Whether the offer is of a card, or may be of one, that the conditions leave in."""
    asked = wanted.constraints
    known = (offer.card,) if offer.card is not None else offer.card_candidates or ()
    return not known or any(card in cards and refused_card(cards[card], asked) is None for card in known)


def _objective(wanted: Wanted, demand: Demand) -> tuple[Objective, tuple[Assumption, ...]]:
    """As asked, else what a job costs or a month does."""
    if wanted.objective is not None:
        return wanted.objective, ()
    found = Objective.COST_PER_MONTH if demand.items is None else Objective.COST_PER_UNIT
    return found, (Assumption(pointer="/objective", value=found.value),)


def _narrowed(wanted: Wanted, workload: Inference) -> Wanted:
    """Formats that the workload names are not changed by the search."""
    allow = wanted.allow
    if workload.weights != "as_published" and allow.weights is None:
        allow = msgspec.structs.replace(allow, weights=("as_published",))
    return msgspec.structs.replace(wanted, allow=allow)
