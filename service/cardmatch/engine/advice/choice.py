"""A form, an offer, and how many machines of it: one way to meet the request, with what it costs an hour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Lot
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Constraints, Objective
from cardmatch.engine.advice.sizing import Sized, request_seconds
from cardmatch.engine.advice.trying import Tried
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.money.offer import PriceKind

_HOUR = 3600.0
UNKNOWN_LOSS = 5.0
"""Percent: a format that nobody measured comes after those that somebody did."""


class Axes(NamedTuple):
    """What options are compared on; less is better on each. Of what costs the same, the more exact comes first."""

    objective: float
    usd_per_hour: float
    loss_percent: float
    doubt: int
    seconds: float
    slowness: float


class Choice(NamedTuple):
    """*machines* of an offer, `copies_per_machine` on the fullest of them; `total_usd` is of a job."""

    tried: Tried
    cache: KvFormat
    lot: Lot
    machines: int
    copies_per_machine: int
    usd_per_hour: float
    total_usd: float | None
    axes: Axes

    @property
    def key(self) -> tuple[Axes, tuple[str, int, str, str], str, str]:
        """Best first; nothing is left to chance."""
        return self.axes, self.tried.form.key, self.cache.value, self.lot.offer.id


MOST_GPUS = 65_536
"""More than this is no fleet that anybody rents, and more than POST /cost reckons with."""


class Broken(NamedTuple):
    """A condition on the whole option that none of its offers meets, with the figure that comes nearest."""

    field: str
    value: float


def choices(
    found: Tried,
    cache: KvFormat,
    size: Sized,
    demand: Demand,
    asked: Constraints,
    objective: Objective,
    presets: Presets,
) -> Iterator[Choice | Broken]:
    """The cheapest offer of each size for *found*, or the conditions that they break."""
    form, sizes = found.form, set()
    for lot in form.lots:
        gpus = lot.offer.gpu_count
        if gpus in sizes and lot.stock is None:
            continue
        per_gpu = 1 if lot.offer.mig_profile else form.copies_per_gpu
        room = gpus // form.gpus * per_gpu
        machines = math.ceil(size.copies / room)
        usd = machines * lot.usd_per_hour
        broken = _broken(machines, machines * gpus, usd, lot, asked, presets)
        total = _total(usd, lot.increment_seconds, size, demand)
        if broken is None and asked.max_usd_total is not None and total is not None and total > asked.max_usd_total:
            broken = Broken("max_usd_total", total)
        if broken is not None:
            yield broken
            if broken.field == "stock":
                continue
        else:
            axes = _axes(found, cache, lot, size, usd, total, demand, objective, presets)
            yield Choice(found, cache, lot, machines, min(room, size.copies), usd, total, axes)
        if lot.stock is None:
            sizes.add(gpus)


def _broken(machines: int, gpus: int, usd: float, lot: Lot, asked: Constraints, presets: Presets) -> Broken | None:
    for field, value, most in (
        ("max_usd_per_hour", usd, asked.max_usd_per_hour),
        ("max_usd_per_month", usd * presets.hours_per_month, asked.max_usd_per_month),
        ("max_gpus", gpus, asked.max_gpus or MOST_GPUS),
        ("max_instances", machines, asked.max_instances),
        ("stock", machines, lot.stock),
    ):
        if most is not None and value > most:
            return Broken(field, value)
    return None


def _total(usd_per_hour: float, increment_seconds: int, size: Sized, demand: Demand) -> float | None:
    """What a job costs, its time rounded up as the provider bills it."""
    if demand.items is None or size.most is None:
        return None
    seconds = demand.items / (size.most.requests_per_second * size.copies)
    return usd_per_hour * math.ceil(seconds / increment_seconds) * increment_seconds / _HOUR


def _axes(
    found: Tried,
    cache: KvFormat,
    lot: Lot,
    size: Sized,
    usd: float,
    total: float | None,
    demand: Demand,
    objective: Objective,
    presets: Presets,
) -> Axes:
    now, most = size.now, size.most
    seconds = request_seconds(now, demand.output_tokens) if now else 0.0
    rate = most.requests_per_second if most else float(size.most_at_once)
    capacity = rate * size.copies
    return Axes(
        objective=_value(objective, usd, total, size, seconds, capacity, demand),
        usd_per_hour=usd,
        seconds=seconds,
        slowness=-capacity,
        loss_percent=_loss(found, presets) + (0.5 if cache is KvFormat.FP8_E4M3 else 0.0),
        doubt=int(lot.offer.price_kind is not PriceKind.LIST),
    )


def _value(
    objective: Objective,
    usd: float,
    total: float | None,
    size: Sized,
    seconds: float,
    capacity: float,
    demand: Demand,
) -> float:
    """What is to be least. A load by rate is the same units for everyone, so its unit costs as its hour does."""
    if objective is Objective.LATENCY and size.now is not None:
        return seconds
    if objective is Objective.THROUGHPUT:
        return -capacity
    if objective is Objective.COST_PER_UNIT:
        if total is not None:
            return total
        if size.now is not None and demand.peak_rate is None:
            return usd / max(size.now.requests_per_second * size.copies, 1e-12)
    return usd


def _loss(found: Tried, presets: Presets) -> float:
    if found.form.weights == "as_published":
        return 0.0
    known = presets.accuracy.get(found.form.weights)
    return known.high_percent if known else UNKNOWN_LOSS
