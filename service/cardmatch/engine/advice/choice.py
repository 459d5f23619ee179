"""A form, an offer, and how many machines of it: one way to meet the request, with what it costs an hour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from cardmatch.engine.advice.candidates import AS_PUBLISHED, Form, machines_of
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.market import Lot
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Constraints, Objective
from cardmatch.engine.advice.sizing import Sized, job_hours, request_seconds
from cardmatch.engine.advice.trying import Tried
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.money.offer import PriceKind
from cardmatch.engine.money.spot import overhead_share

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
    def key(self) -> tuple[Axes, tuple[str, int, int, str, str], str, str]:
        """Best first; nothing is left to chance."""
        return self.axes, self.tried.form.key, self.cache.value, self.lot.offer.id


MOST_GPUS = 65_536
"""More than this is no fleet that anybody rents, and more than POST /cost reckons with."""


class Broken(NamedTuple):
    """A condition on the whole option that is not met, with the figure that would be, and others beside it.

    `excess` is how many times the limits are exceeded, all together; `offer` is the one of which there are too few.
    """

    field: str
    value: float
    further: tuple[tuple[str, float], ...] = ()
    excess: float = 1.0
    offer: str = ""


def choices(
    found: Tried,
    cache: KvFormat,
    size: Sized,
    demand: Demand,
    asked: Constraints,
    objective: Objective,
    presets: Presets,
) -> Iterator[Choice | Broken]:
    """The cheapest offer of each size (for a job, of each way of billing), or the conditions that it breaks."""
    form, sizes = found.form, set()
    for lot in form.lots:
        gpus = lot.offer.gpu_count
        billing = (lot.increment_seconds, lot.spot, lot.least_usd, lot.offer.setup_fee_usd)
        kind = (gpus, lot.offer.mig_profile, *(billing if demand.items else ()))
        if kind in sizes and lot.stock is None:
            continue
        each = 1 if lot.offer.mig_profile else form.copies_per_gpu
        machines = machines_of(form, gpus, size.copies, each)
        usd = machines * lot.usd_per_hour
        total = _total(usd, lot, machines, size, demand)
        broken = _broken(machines, machines * gpus, usd, total, lot, asked, presets, _late(demand, size))
        if broken is not None:
            yield broken
            if broken.field == "stock":
                continue
        else:
            axes = _axes(found, cache, lot, size, usd, total, demand, objective, presets)
            yield Choice(found, cache, lot, machines, _fullest(form, gpus, each, size.copies), usd, total, axes)
        if lot.stock is None:
            sizes.add(kind)


def _fullest(form: Form, gpus: int, slices: int, copies: int) -> int:
    """Copies on the fullest machine; one where a copy spans several."""
    return max(1, min(gpus // form.gpus * slices, copies))


def _broken(
    machines: int,
    gpus: int,
    usd: float,
    total: float | None,
    lot: Lot,
    asked: Constraints,
    presets: Presets,
    late: tuple[float, float] | None,
) -> Broken | None:
    """Every limit that is exceeded; a machine that is not there comes first."""
    over = []
    for field, value, most in (
        ("stock", machines, lot.stock),
        ("deadline_hours", *(late or (None, None))),
        ("max_usd_per_hour", usd, asked.max_usd_per_hour),
        ("max_usd_per_month", usd * presets.hours_per_month, asked.max_usd_per_month),
        ("max_gpus", gpus, asked.max_gpus or MOST_GPUS),
        ("max_instances", machines, asked.max_instances),
        ("max_usd_total", total, asked.max_usd_total),
    ):
        if most is not None and value is not None and value > most:
            over.append((field, float(value), value / max(most, 1e-9)))
    if not over:
        return None
    further = tuple([(field, value) for field, value, _ in over[1:]])
    return Broken(over[0][0], over[0][1], further, sum(times for _, _, times in over), lot.offer.id)


_ROUNDED = 1 + 1e-6


def _late(demand: Demand, size: Sized) -> tuple[float, float] | None:
    """The hours that a job takes at the slow end, and those that there are, where they are fewer."""
    if demand.items is None or demand.deadline_hours is None:
        return None
    hours = job_hours(demand.items, size)
    return (hours, demand.deadline_hours) if hours is not None and hours > demand.deadline_hours * _ROUNDED else None


def _total(usd_per_hour: float, lot: Lot, machines: int, size: Sized, demand: Demand) -> float | None:
    """What a job costs: its time rounded up as the provider bills it, set-up fees, at least the least balance.

    Interruptions of spot machines take time too.
    """
    if demand.items is None or size.most is None:
        return None
    seconds = demand.items / (size.most.requests_per_second * size.copies)
    if lot.interruptions is not None:
        seconds *= 1 + overhead_share(lot.interruptions, machines)
    billed = math.ceil(seconds / lot.increment_seconds) * lot.increment_seconds
    return max(usd_per_hour * billed / _HOUR + machines * (lot.offer.setup_fee_usd or 0.0), lot.least_usd)


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
    """Of accuracy, in percent; weights in RAM count as many more as steps take times as long, so the lightest wins."""
    lost = loss_percent(found.form.weights, presets)
    return lost if found.spill is None else lost + found.spill.most_times


def loss_percent(weights: str, presets: Presets) -> float:
    """What *weights* were measured to lose of accuracy at most."""
    if weights == AS_PUBLISHED:
        return 0.0
    known = presets.accuracy.get(weights)
    return known.high_percent if known else UNKNOWN_LOSS
