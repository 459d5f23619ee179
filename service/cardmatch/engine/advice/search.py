"""Every way to meet the request, cheapest bound first: what a bound rules out cannot be among the options.

A form costs at least one machine of its cheapest offer for each tenant's copy. Forms are tried in the order of that
bound; once as many options as asked for cost no more than the next bound, nothing that follows can displace one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from cardmatch.engine.advice.candidates import Form, engine_name, forms_of, layouts, native, runs_on, weight_formats
from cardmatch.engine.advice.choice import Broken, Choice, choices
from cardmatch.engine.advice.conditions import refused_card
from cardmatch.engine.advice.market import Market
from cardmatch.engine.advice.question import Objective, Wanted
from cardmatch.engine.advice.rank import Everything, Skyline
from cardmatch.engine.advice.trying import Outcome, Tried, Trying, placement_of, tried
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.models.kv_formats import KvFormat

_LEAST_CACHE_SHARE = 0.25
"""Of sixteen bits: four-bit caches are the smallest that any engine keeps."""

BY_THE_HOUR = frozenset({Objective.COST_PER_HOUR, Objective.COST_PER_MONTH})
_BUDGET_SHARE = 0.98
"""No engine may fill more of a card: weights beyond it need not be tried."""


class Fate(NamedTuple):
    """The best that became of a card: it was refused, has no offer, or was tried."""

    refused: str | None = None
    best: Choice | None = None
    tried: Tried | None = None
    broken: Broken | None = None
    bound: float | None = None


class Found(NamedTuple):
    """Options best first, and the fate of every card."""

    options: tuple[Choice, ...]
    fates: dict[str, Fate]
    considered: int


def search(shared: Trying, cards: Mapping[str, Card], market: Market, wanted: Wanted, objective: Objective) -> Found:
    """The options of *wanted* on *cards* and offers of *market*."""
    fates, forms = _forms(shared, cards, market, wanted)
    skyline, considered = Skyline(wanted.limit), 0
    for bound, form in forms:
        if objective in BY_THE_HOUR and skyline.full_below(bound):
            known = fates.get(form.card.id)
            if known is None:
                fates[form.card.id] = Fate(bound=bound)
            continue
        considered += 1
        _try(shared, form, wanted, objective, skyline, fates)
    return Found(skyline.options(), fates, considered)


def tried_whole(
    shared: Trying, cards: Mapping[str, Card], market: Market, wanted: Wanted, objective: Objective
) -> list[Choice]:
    """Every choice there is, without bounds: what `search` is checked against."""
    skyline = Everything()
    for _, form in _forms(shared, cards, market, wanted)[1]:
        _try(shared, form, wanted, objective, skyline, {})
    return skyline.choices


def _forms(
    shared: Trying, cards: Mapping[str, Card], market: Market, wanted: Wanted
) -> tuple[dict[str, Fate], list[tuple[float, Form]]]:
    """The fates of cards that need not be tried, and the forms of the others, least bound first."""
    fates: dict[str, Fate] = {}
    forms = []
    for card in cards.values():
        fate = _refused(shared, card, market, wanted)
        if fate is None:
            forms += _bounded(shared, card, market, wanted)
        else:
            fates[card.id] = fate
    forms.sort(key=lambda each: (each[0], each[1].key))
    return fates, forms


def _refused(shared: Trying, card: Card, market: Market, wanted: Wanted) -> Fate | None:
    refused = refused_card(card, wanted.constraints)
    if refused is None and not runs_on(shared.presets.engines[engine_name(shared.engine)], card):
        refused = "engine"
    if refused is None and card.id not in market.lots:
        refused = "offers"
    return None if refused is None else Fate(refused=refused)


def _bounded(shared: Trying, card: Card, market: Market, wanted: Wanted) -> list[tuple[float, Form]]:
    """The forms of *card*, each with the least that it can cost an hour."""
    engine, job = shared.engine, shared.job
    support = shared.presets.engines[engine_name(engine)]
    formats = weight_formats(engine, card, job, wanted, shared.presets)
    spread = layouts(job.architecture, support.splits, wanted)
    found = forms_of(card, market.lots[card.id], spread, formats, wanted)
    return [(_bound(shared, form), form) for form in found]


def _bound(shared: Trying, form: Form) -> float:
    """Dollars an hour of the machines that the least number of copies takes."""
    copies = _fewest_copies(shared, form)
    return min(
        lot.usd_per_hour * math.ceil(copies / (lot.offer.gpu_count // form.gpus * form.copies_per_gpu))
        for lot in form.lots
    )


def _fewest_copies(shared: Trying, form: Form) -> int:
    """One a tenant, and as many as hold the cache of all requests beside their weights, were nothing else there."""
    demand = shared.demand
    if demand.concurrency is None or demand.concurrency == 1 or shared.offload or shared.job.shared_prefix_tokens:
        return demand.tenants
    free = form.gpus * form.device.memory_high_bytes - shared.layer_bytes(form.weights)
    if free <= 0:
        return demand.tenants
    cache = shared.request_cache_bytes * _LEAST_CACHE_SHARE * demand.concurrency
    return demand.tenants * max(1, math.ceil(cache / free))


def _try(
    shared: Trying,
    form: Form,
    wanted: Wanted,
    objective: Objective,
    skyline: Skyline | Everything,
    fates: dict[str, Fate],
) -> None:
    missing = _beyond_memory(shared, form)
    if missing > 0:
        where = placement_of(shared.engine, form)
        remember(fates, form, Fate(tried=Tried(form, shared.job, where, Outcome.DOES_NOT_FIT, None, missing)))
        return
    for cache in _caches(shared, form.card, wanted):
        found = tried(shared, form, cache)
        if found.size is None:
            remember(fates, form, Fate(tried=found))
        else:
            asked, demand = wanted.constraints, shared.demand
            for each in choices(found, cache, found.size, demand, asked, objective, shared.presets):
                if isinstance(each, Broken):
                    remember(fates, form, Fate(tried=found, broken=each))
                else:
                    skyline.add(each)
                    remember(fates, form, Fate(best=each))
            if not _short_of_cache(shared, found):
                return


def _beyond_memory(shared: Trying, form: Form) -> int:
    """By how much the layers' weights alone are too large for each GPU: where they are, nothing need be reserved."""
    if shared.offload:
        return 0
    return shared.layer_bytes(form.weights) // form.gpus - int(form.device.memory_high_bytes * _BUDGET_SHARE)


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


def _short_of_cache(shared: Trying, found: Tried) -> bool:
    """Whether memory, not latency or the load, limits the requests at once: else a smaller cache changes nothing."""
    size, demand = found.size, shared.demand
    if size is None:
        return True
    if demand.concurrency is not None and size.most_at_once >= demand.concurrency:
        return False
    return size.copies > demand.tenants


def remember(fates: dict[str, Fate], form: Form, fate: Fate) -> None:
    """Keep what came nearest: an option, else a broken condition, else too slow, tight, too large."""
    known = fates.get(form.card.id)
    if known is None or nearness(fate) < nearness(known):
        fates[form.card.id] = fate


def nearness(fate: Fate) -> tuple[int, float]:
    """How near a card came to being an option: less is nearer."""
    if fate.best is not None:
        return 0, fate.best.axes.objective
    if fate.broken is not None:
        return 1, fate.broken.value
    if fate.bound is not None:
        return 2, fate.bound
    if fate.tried is None:
        return 9, 0.0
    order = (Outcome.TOO_SLOW, Outcome.TIGHT, Outcome.DOES_NOT_FIT)
    return 3 + order.index(fate.tried.outcome), float(fate.tried.missing_bytes)
