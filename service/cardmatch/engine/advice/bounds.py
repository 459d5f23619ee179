"""The least that a form can cost, or take: what is no better than that is not worth trying.

Two bounds, cheapest first. The price bound counts the machines of the fewest copies that memory allows at best. The
speed bound asks the speed room how fast one copy is at best: with the smallest cache, and as many requests at once as
would fit were nothing but weights and cache on the card. Rates of a copy only grow with its requests, times too.
"""

from __future__ import annotations

import math

from cardmatch.engine.advice.candidates import Form, machines_of
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Lot
from cardmatch.engine.advice.pace import Curve, Served
from cardmatch.engine.advice.question import Objective
from cardmatch.engine.advice.sizing import (
    SLOWEST,
    copies_at_rate,
    copies_by_deadline,
    most_within,
    open_rate,
    request_seconds,
    without_targets,
)
from cardmatch.engine.advice.trying import Trying, curve_of, placement_of, waits_of
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.kv_formats import KvFormat

_LEAST_CACHE_SHARE = 0.25
"""Of sixteen bits: four-bit caches are the smallest that any engine keeps."""

_MOST_AT_ONCE = 65_536
_HOUR = 3600.0
BY_THE_HOUR = frozenset({Objective.COST_PER_HOUR, Objective.COST_PER_MONTH})


def rent(shared: Trying, form: Form, copies: int) -> float:
    """Dollars an hour of the cheapest machines that hold *copies*; forms on the same offers are reckoned once."""
    key = (id(form.lots), form.gpus, form.nodes, form.copies_per_gpu, copies)
    found = shared.rents.get(key)
    if found is None:
        usd = min([lot.usd_per_hour * machines_of(form, lot.offer.gpu_count, copies) for lot in form.lots])
        found = shared.rents[key] = (form.lots, usd)  # kept, so that no other offers get their identity
    return found[1]


def fewest_copies(shared: Trying, form: Form) -> int:
    """One a tenant, and as many as hold the cache of all requests beside their weights, were nothing else there."""
    demand = shared.demand
    if demand.concurrency is None or demand.concurrency == 1:
        return demand.tenants
    return demand.tenants * math.ceil(demand.concurrency / most_at_once(shared, form))


def most_at_once(shared: Trying, form: Form) -> int:
    """Requests of one copy whose cache would fit beside the weights in the smallest format, were nothing else there."""
    cache = shared.request_cache_bytes * _LEAST_CACHE_SHARE
    if not cache or shared.job.shared_prefix_tokens:
        return _MOST_AT_ONCE
    held = 0 if shared.offload else shared.layer_bytes(form.weights)
    return min(max(1, int((form.gpus * form.device.memory_high_bytes - held) / cache)), _MOST_AT_ONCE)


def price_bound(shared: Trying, form: Form, objective: Objective) -> float:
    """The least value of *objective* that needs no speed to be known."""
    if objective in BY_THE_HOUR:
        return rent(shared, form, fewest_copies(shared, form))
    return -math.inf if objective is Objective.THROUGHPUT else 0.0


def speed_bound(shared: Trying, form: Form, objective: Objective, cache: KvFormat) -> float:
    """The least value of *objective* with *cache*, the smallest allowed; infinite where even one request is too slow.

    Without a speed it is what the price says.
    """
    job = shared.in_formats(form.weights, cache)
    curve = curve_of(shared, job, form, placement_of(shared.engine, form))
    if curve is None:
        return price_bound(shared, form, objective) if objective in BY_THE_HOUR else -math.inf
    demand, at_once = shared.demand, most_at_once(shared, form)
    if objective is Objective.LATENCY:
        return _least_seconds(shared, job, form, curve)
    limits = without_targets(demand) if shared.queued else demand
    at_once = min(at_once, demand.concurrency or demand.requests or at_once)
    most = most_within(curve, limits, at_once)
    if not most:
        return math.inf
    best = curve(most)
    if objective is Objective.THROUGHPUT:
        return -_most_capacity(demand, best, curve)
    copies = _copies(shared, best, most)
    if objective is Objective.COST_PER_UNIT and demand.peak_rate is None:
        return _per_unit(form, demand, best)
    return rent(shared, form, copies)


def _least_seconds(shared: Trying, job: ServingJob, form: Form, curve: Curve) -> float:
    """A request by itself; where requests queue, as the queue has it where hardly any come."""
    alone: Served | None = curve(1)
    if shared.queued:
        waits = waits_of(shared, job, form, placement_of(shared.engine, form))
        alone = waits(SLOWEST, 1) if waits else None
    return 0.0 if alone is None else request_seconds(alone, shared.demand.output_tokens)


def _copies(shared: Trying, best: Served, most: int) -> int:
    """The fewest copies at the *best* rate of one, with *most* requests at once in it."""
    demand = shared.demand
    if demand.concurrency is not None:
        copies = math.ceil(demand.concurrency / most)
    elif demand.peak_rate is not None:
        share = shared.presets.busy_share.share
        each = open_rate(best, demand) if shared.queued else best.requests_per_second * share
        copies = copies_at_rate(demand.peak_rate, each)
    else:
        copies = copies_by_deadline(demand, best)
    return copies * demand.tenants


def _per_unit(form: Form, demand: Demand, best: Served) -> float:
    """Dollars of a job, or of each request: an hour of a copy's share of the cheapest machine over its best rate."""
    each = min(_copy_usd(form, lot) for lot in form.lots)
    rate = max(best.requests_per_second, SLOWEST)
    return each / rate if demand.items is None else each * demand.items / rate / _HOUR


def _copy_usd(form: Form, lot: Lot) -> float:
    """Dollars an hour of a copy where machines are filled."""
    if form.nodes > 1:
        return lot.usd_per_hour * form.nodes
    return lot.usd_per_hour / (lot.offer.gpu_count // form.gpus * form.copies_per_gpu)


def _most_capacity(demand: Demand, best: Served, curve: Curve) -> float:
    """Requests per second of all copies: the last of them may be almost idle, so one more counts than is needed."""
    needed = 0.0
    if demand.concurrency is not None:
        needed = demand.concurrency * curve(1).requests_per_second
    elif demand.peak_rate is not None:
        needed = math.inf
    elif demand.items is not None and demand.deadline_hours is not None:
        needed = demand.items / (best.low_ratio * demand.deadline_hours * _HOUR)
    return demand.tenants * (needed + best.requests_per_second)
