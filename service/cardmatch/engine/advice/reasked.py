"""The search asked again about one card under a changed request: how ways back are tried before they are told."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.advice.asking import Asking, Room, Ways
from cardmatch.engine.advice.candidates import COUNTS, engine_name, runs_on, weight_formats
from cardmatch.engine.advice.conditions import conditions
from cardmatch.engine.advice.fate import Fate
from cardmatch.engine.advice.load import Demand, demanded
from cardmatch.engine.advice.market import Market, market
from cardmatch.engine.advice.openings import openings
from cardmatch.engine.advice.own import own_id
from cardmatch.engine.advice.pace import Served
from cardmatch.engine.advice.question import OffersMode, Wanted
from cardmatch.engine.advice.search import Quest, fate_in, limited
from cardmatch.engine.advice.sizing import SLOWEST, request_seconds
from cardmatch.engine.advice.spilling import slowed
from cardmatch.engine.advice.trying import Tried, Trying, curve_of, spill_of, waits_of
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import Spread
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.provider import Provider
from cardmatch.engine.terms.fault import Invalid

_OTHERS: tuple[AnyEngine, ...] = (LlamaCpp(), Vllm())
_SLACK = 1.001
"""Targets are told this much wider than what one request alone would meet, and then rounded."""


class Sold(NamedTuple):
    """What is for sale, the offers that the request leaves out among it, and what is known of it."""

    cards: Mapping[str, Card]
    offers: Mapping[str, tuple[Offer, ...]]
    providers: Mapping[str, Provider]
    countries: Mapping[str, Country]
    priced_on: dt.date
    market: Market

    def under(self, asking: Asking, card: str, before: Wanted) -> Market:
        """The market of *card* alone, where conditions have changed since *before*."""
        wanted = asking.wanted
        same = wanted.constraints is before.constraints and wanted.allow is before.allow
        if same and wanted.offers is before.offers and wanted.offers_mode is before.offers_mode:
            return self.market
        stock = {own_id(row): row.stock for row in wanted.offers}
        offers = self.offers.get(card, ())
        if wanted.offers_mode is OffersMode.ONLY:
            offers = tuple([offer for offer in offers if offer.id in stock])
        return market(offers, stock, self.providers, conditions(wanted, self.countries), self.priced_on)


def by_card(offers: Iterable[Offer]) -> dict[str, tuple[Offer, ...]]:
    """*offers* of each card."""
    found: dict[str, list[Offer]] = {}
    for offer in offers:
        found.setdefault(offer.card or "", []).append(offer)
    return {card: tuple(each) for card, each in found.items()}


class Model(NamedTuple):
    """What is served."""

    architecture: Architecture
    checkpoint: Checkpoint
    spread: Spread | None


class Again(NamedTuple):
    """The request as it came, and what its search shared; *others* are what changed requests share."""

    quest: Quest
    workload: Inference
    model: Model
    sold: Sold
    others: list[Trying]

    @property
    def ways(self) -> Ways:
        """How ways back are looked for."""
        demand = self.quest.shared.demand
        lengths = demand.prompt_tokens, demand.output_tokens
        return Ways(
            self.fate,
            self.targets,
            self.openings,
            self.engines,
            self.spilled,
            self.room,
            lengths,
            not limited(self.quest),
        )

    def fate(self, asking: Asking, card: str) -> Fate:
        """What becomes of *card* under *asking*; nothing, where that would be refused."""
        wanted, sold = asking.wanted, self.sold
        on_sale = sold.under(asking, card, self.quest.wanted)
        try:
            quest = Quest(self._shared(asking), wanted, self.quest.objective)
        except Invalid:
            return Fate()
        return fate_in(quest, sold.cards[card], on_sale)

    def targets(self, asking: Asking, fate: Fate) -> dict[str, float]:
        """The targets that one request alone misses on the form that was tried."""
        shared, found = self._shared(asking), fate.tried
        served = None if found is None else alone(shared, found)
        return {} if served is None else missed(shared.demand, served)

    def engines(self, card: str) -> tuple[AnyEngine, ...]:
        """Those of the best known two that run on *card*."""
        known, support = self.sold.cards[card], self.quest.shared.presets.engines
        return tuple([each for each in _OTHERS if runs_on(support[engine_name(each)], known)])

    def spilled(self, asking: Asking, fate: Fate) -> dict[str, float] | None:
        """The targets that are missed where the rest of the weights lies in RAM; null where that does not help."""
        shared, found = self._shared(asking), fate.tried
        if found is None or found.job is None:
            return None
        spill = spill_of(shared, found.job, found.placement)
        if spill is None:
            return None
        served = alone(shared, found._replace(spill=spill))
        return {} if served is None else missed(shared.demand, served)

    def room(self, asking: Asking, card: str, fate: Fate) -> Room:
        """Machines that the lightest weights take at least; whether the cache alone is what is missing."""
        shared, sold = self._shared(asking), self.sold
        lots = sold.under(asking, card, self.quest.wanted).lots.get(card, ())
        known = sold.cards[card]
        formats = weight_formats(shared.engine, known, shared.job, asking.wanted, shared.presets)
        least = min([shared.layer_bytes(name) for name in formats], default=0)
        largest = max([min(lot.offer.gpu_count, COUNTS[-1]) for lot in lots], default=1)
        memory = known.visible.expected_bytes if known.visible else 1
        missing = fate.tried.missing_bytes if fate.tried else 0
        short = least < memory * largest and missing < shared.request_cache_bytes
        return Room(max(2, math.ceil(least / (memory * largest))), short)

    def openings(self, asking: Asking, card: str) -> Iterator[dict[str, Any]]:
        """What lets in an offer of *card*."""
        sold = self.sold
        on_sale = sold.under(asking, card, self.quest.wanted)
        unknown = tuple([each for each in on_sale.unknown if each.offer.card == card])
        rejected = (*unknown, *on_sale.rejected.get(card, ()))
        return openings(asking.wanted.constraints, rejected, sold.providers, sold.countries)

    def _shared(self, asking: Asking) -> Trying:
        shared, before, wanted = self.quest.shared, self.quest.wanted, asking.wanted
        work = asking.workload or self.workload
        if wanted.load is before.load and work is self.workload:
            if wanted.allow.offload == shared.offload:
                return shared
            return msgspec.structs.replace(shared, offload=wanted.allow.offload)
        limit = self.model.architecture.maximum_context_tokens
        asked = demanded(work, wanted, shared.presets, limit)
        job, _ = settle(asked.workload, self.model.architecture, self.model.checkpoint, self.model.spread)
        engine, offload = asked.workload.engine, wanted.allow.offload
        for known in (shared, *self.others):  # a target moved changes neither the job nor where it lies
            if known.engine == engine and known.job == job:
                return msgspec.structs.replace(known, demand=asked.demand, offload=offload)
        other = Trying(
            job=job,
            engine=engine,
            demand=asked.demand,
            calibration=shared.calibration,
            presets=shared.presets,
            paces=shared.paces,
            offload=offload,
        )
        self.others.append(other)
        return other


def alone(shared: Trying, found: Tried) -> Served | None:
    """One request by itself on the form that was tried."""
    if found.job is None:
        return None
    if shared.queued and found.spill is None:
        waits = waits_of(shared, found.job, found.form, found.placement)
        return waits(SLOWEST, 1) if waits else None
    curve = curve_of(shared, found.job, found.form, found.placement)
    if curve is not None and found.spill is not None:
        curve = slowed(curve, found.spill)
    return curve(1) if curve else None


def missed(demand: Demand, served: Served) -> dict[str, float]:
    """The targets of *demand* that *served* does not meet, as it would; nineteen in twenty of those that queue."""
    queued = served.request_p95_seconds > 0
    first = served.ttft_p95_seconds if queued else served.ttft_seconds
    token = served.tpot_p95_seconds if queued else served.tpot_seconds
    whole = served.request_p95_seconds if queued else request_seconds(served, demand.longest_output_tokens)
    found: dict[str, float] = {}
    if demand.ttft_seconds is not None and first > demand.ttft_seconds:
        found["ttft_seconds"] = _rounded(first * _SLACK)
    if demand.tpot_seconds is not None and token > demand.tpot_seconds:
        found["min_tokens_per_second_per_user"] = _rounded(1 / (token * _SLACK), down=True)
    if demand.latency_seconds is not None and whole > demand.latency_seconds:
        found["p95_latency_seconds"] = _rounded(whole * _SLACK)
    return found


def _rounded(value: float, *, down: bool = False) -> float:
    """To three figures, away from what would be too strict."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return round((math.floor(value / step) if down else math.ceil(value / step)) * step, 9)
