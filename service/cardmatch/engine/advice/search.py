"""Every way to meet the request, cheapest bound first: what a bound rules out cannot be among the options.

Forms wait in the order of the least that they can come to (`bounds`). The first in line gets a sharper bound, and goes
back; with its sharpest it is tried. Once as many options as asked for are better than the next bound, nothing that
waits can displace one. A card that is only ruled out so is asked once whether it works at all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.bounds import BY_THE_HOUR, fewest_copies, price_bound, rent, speed_bound
from cardmatch.engine.advice.candidates import Form, engine_name, forms_of, layouts, native, runs_on, weight_formats
from cardmatch.engine.advice.choice import Broken, Choice, choices
from cardmatch.engine.advice.conditions import refused_card
from cardmatch.engine.advice.fate import TOO_SLOW, Fate, nearness, remember
from cardmatch.engine.advice.market import Lot, Market
from cardmatch.engine.advice.question import Objective, Wanted
from cardmatch.engine.advice.rank import Everything, Skyline
from cardmatch.engine.advice.spanning import BUDGET_SHARE, worth_spanning
from cardmatch.engine.advice.trying import Outcome, Tried, Trying, placement_of, tried, works_alone
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.models.kv_formats import KvFormat


class Found(NamedTuple):
    """Options best first, and the fate of every card."""

    options: tuple[Choice, ...]
    fates: dict[str, Fate]
    considered: int


class Quest(NamedTuple):
    """What is searched for: the request, and what counts as best."""

    shared: Trying
    wanted: Wanted
    objective: Objective


def search(shared: Trying, cards: Mapping[str, Card], market: Market, wanted: Wanted, objective: Objective) -> Found:
    """The options of *wanted* on *cards* and offers of *market*."""
    quest = Quest(shared, wanted, objective)
    fates, forms = _forms(shared, cards, market, wanted)
    skyline, considered = Skyline(wanted.limit), 0
    waiting = [(price_bound(shared, form, objective), 0, form.key, form) for form in forms]
    heapq.heapify(waiting)
    while waiting and not skyline.full_below(waiting[0][0]):
        bound, sharp, key, form = waiting[0]
        if not sharp:
            sharper = speed_bound(shared, form, objective, _smallest_cache(quest, form.card))
            heapq.heapreplace(waiting, (max(bound, sharper), 1, key, form))
            continue
        heapq.heappop(waiting)
        if _beyond_limit(quest, form, bound, fates):
            continue
        considered += 1
        _try(quest, form, skyline, fates)
    untried = [form for _, _, _, form in waiting]
    _ask_once(quest, untried, fates)
    if shared.demand.items is not None:
        _total_up(quest, untried, fates)
    return Found(skyline.options(), fates, considered)


def _beyond_limit(quest: Quest, form: Form, usd_per_hour: float, fates: dict[str, Fate]) -> bool:
    """Whether *form* surely costs more than the request allows, and than what is known to on the same card."""
    limit, known = quest.wanted.constraints.max_usd_per_hour, fates.get(form.card.id)
    if limit is None or known is None or quest.objective not in BY_THE_HOUR or quest.wanted.offers:
        return False
    if known.best is not None:
        return usd_per_hour > limit
    broken = known.broken
    return broken is not None and broken.field == "max_usd_per_hour" and usd_per_hour > max(limit, broken.value)


def tried_whole(
    shared: Trying, cards: Mapping[str, Card], market: Market, wanted: Wanted, objective: Objective
) -> list[Choice]:
    """Every choice there is, without bounds: what `search` is checked against."""
    skyline = Everything()
    for form in _forms(shared, cards, market, wanted)[1]:
        _try(Quest(shared, wanted, objective), form, skyline, {})
    return skyline.choices


def fate_in(quest: Quest, card: Card, market: Market) -> Fate:
    """What becomes of *card* on *market* by itself, whatever else there is: the first way that works."""
    refused = _refused(quest.shared, card, market, quest.wanted)
    if refused is not None:
        return refused
    fates: dict[str, Fate] = {}
    _ask_once(quest, _of_card(quest.shared, card, market.lots[card.id], quest.wanted), fates, first=True)
    return fates.get(card.id, Fate())


def _ask_once(quest: Quest, forms: list[Form], fates: dict[str, Fate], *, first: bool = False) -> None:
    """The fates of cards that were not tried: the first form that works, with the least that it may cost an hour.

    With *first* the cheapest form that only a limit or a target keeps out is near enough.
    """
    shared = quest.shared
    for bound, _, form in _that_hold(shared, forms, fates, cheaply=first):
        card = form.card.id
        known = fates.get(card)
        near = first and known is not None and nearness(known)[0] <= TOO_SLOW
        if near or (known is not None and (known.best is not None or known.bound is not None)):
            continue
        if not limited(quest) and works_alone(shared, form, _caches(shared, form.card, quest.wanted)[0]):
            fates[card] = Fate(bound=bound)
            continue
        _try(quest, form, Skyline(1), fates)
        if fates[card].best is not None:
            fates[card] = Fate(bound=bound)


def _that_hold(
    shared: Trying, forms: list[Form], fates: dict[str, Fate], *, cheaply: bool
) -> list[tuple[float, tuple[str, int, int, str, str], Form]]:
    """Forms of cards not yet tried whose weights the memory holds, with the least they cost an hour, cheapest first."""
    found = []
    for form in forms:
        known = fates.get(form.card.id)
        if known is not None and (known.best is not None or known.refused is not None):
            continue
        if (missing := _beyond_memory(shared, form)) > 0:
            remember(fates, form, _too_large(shared, form, missing))
        else:
            usd = form.lots[0].usd_per_hour * form.nodes if cheaply else rent(shared, form, fewest_copies(shared, form))
            found.append((usd, form.key, form))
    found.sort(key=lambda each: each[:2])
    return found


def _total_up(quest: Quest, forms: list[Form], fates: dict[str, Fate]) -> None:
    """The least that a job comes to on cards that work: on *forms*, which were not tried, too."""
    for form in forms:
        fate = fates[form.card.id]
        if fate.best is None and fate.bound is None:
            continue
        least = speed_bound(quest.shared, form, Objective.COST_PER_UNIT, _smallest_cache(quest, form.card))
        if math.isfinite(least):
            fates[form.card.id] = fate._replace(total=least if fate.total is None else min(least, fate.total))


def limited(quest: Quest) -> bool:
    """Whether more must be known of a form than that a copy runs: its machines and dollars, or how it is queued for."""
    shared, asked, demand = quest.shared, quest.wanted.constraints, quest.shared.demand
    limits = (asked.max_usd_per_hour, asked.max_usd_per_month, asked.max_usd_total, asked.max_gpus, asked.max_instances)
    many = (demand.concurrency or 1) > _SOME or (demand.peak_rate or 0) > _SOME or demand.deadline_hours is not None
    return any(limit is not None for limit in limits) or shared.queued or many or bool(quest.wanted.offers)


_SOME = 4096
"""Requests at once, or a second, that surely take fewer GPUs than the largest fleet that anybody rents."""


def _forms(
    shared: Trying, cards: Mapping[str, Card], market: Market, wanted: Wanted
) -> tuple[dict[str, Fate], list[Form]]:
    """The fates of cards that need not be tried, and the forms of the others."""
    fates: dict[str, Fate] = {}
    forms = []
    for card in cards.values():
        fate = _refused(shared, card, market, wanted)
        if fate is None:
            forms += _of_card(shared, card, market.lots[card.id], wanted)
        else:
            fates[card.id] = fate
    return fates, forms


def _refused(shared: Trying, card: Card, market: Market, wanted: Wanted) -> Fate | None:
    refused = refused_card(card, wanted.constraints)
    if refused is None and not runs_on(shared.presets.engines[engine_name(shared.engine)], card):
        refused = "engine"
    if refused is None and card.id not in market.lots:
        refused = "offers"
    return None if refused is None else Fate(refused=refused)


def _of_card(shared: Trying, card: Card, lots: tuple[Lot, ...], wanted: Wanted) -> list[Form]:
    """The forms of one copy on *card*."""
    engine, job = shared.engine, shared.job
    support = shared.presets.engines[engine_name(engine)]
    formats = weight_formats(engine, card, job, wanted, shared.presets)
    spread = layouts(job.architecture, support.splits, wanted)
    if wanted.nodes > 1 and not support.spans_machines:
        wanted = msgspec.structs.replace(wanted, nodes=1)
    forms = forms_of(card, lots, spread, formats, wanted, len(job.architecture.layer_order))
    return forms if wanted.nodes == 1 else [form for form in forms if worth_spanning(shared, form, wanted.nodes)]


def _try(quest: Quest, form: Form, skyline: Skyline | Everything, fates: dict[str, Fate]) -> None:
    shared, wanted = quest.shared, quest.wanted
    missing = _beyond_memory(shared, form)
    if missing > 0:
        remember(fates, form, _too_large(shared, form, missing))
        return
    for cache in _caches(shared, form.card, wanted):
        found = tried(shared, form, cache)
        if found.size is None:
            remember(fates, form, Fate(tried=found))
            continue
        asked, demand = wanted.constraints, shared.demand
        for each in choices(found, cache, found.size, demand, asked, quest.objective, shared.presets):
            if isinstance(each, Broken):
                remember(fates, form, Fate(tried=found, broken=each))
            else:
                skyline.add(each)
                remember(fates, form, Fate(best=each))
        if quest.objective in BY_THE_HOUR and not _short_of_cache(shared, found):
            return


def _too_large(shared: Trying, form: Form, missing: int) -> Fate:
    where, job = placement_of(shared.engine, form), shared.in_formats(form.weights, KvFormat.AUTO)
    return Fate(tried=Tried(form, job, where, Outcome.DOES_NOT_FIT, None, missing))


def _beyond_memory(shared: Trying, form: Form) -> int:
    """By how much the layers' weights alone are too large for each GPU: where they are, nothing need be reserved."""
    if shared.offload:
        return 0
    return shared.layer_bytes(form.weights) // form.gpus - int(form.device.memory_high_bytes * BUDGET_SHARE)


def _caches(shared: Trying, card: Card, wanted: Wanted) -> tuple[KvFormat, ...]:
    """The cache's own format, and eight bits where it may be changed: twice as many requests at once."""
    allowed = wanted.allow.kv_cache
    if allowed is not None:
        return allowed
    if not shared.job.automatic_cache or isinstance(shared.engine, Transformers):
        return (KvFormat.AUTO,)
    if isinstance(shared.engine, LlamaCpp | Ollama | LmStudio):
        return KvFormat.AUTO, KvFormat.Q8_0
    return (KvFormat.AUTO, KvFormat.FP8_E4M3) if native("fp8", card, shared.presets) else (KvFormat.AUTO,)


def _smallest_cache(quest: Quest, card: Card) -> KvFormat:
    return min(_caches(quest.shared, card, quest.wanted), key=quest.shared.cache_bytes)


def _short_of_cache(shared: Trying, found: Tried) -> bool:
    """Whether memory, not latency or the load, limits the requests at once: else a smaller cache changes nothing."""
    size, demand = found.size, shared.demand
    if size is None:
        return True
    if demand.concurrency is not None and size.most_at_once >= demand.concurrency:
        return False
    return size.copies > demand.tenants
