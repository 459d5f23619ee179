"""How fast an engine serves a model on a placement, under a load: the public call for language models."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.speed.arrivals import Percentiles, Waiting, queue_of, waiting
from cardmatch.engine.speed.band import FIRST_TOKEN, Doubt, SpeedBand, doubt
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.lengths import Z95, Lengths, lengths
from cardmatch.engine.speed.pace import SERIAL, EngineKind, Pace, pace_of
from cardmatch.engine.speed.shape import Shape
from cardmatch.engine.speed.steady import constant_load, steady
from cardmatch.engine.speed.step import decode_work, timed
from cardmatch.engine.terms.fault import FaultCode, refusal

QUEUE_PER_REQUEST = 0.1
"""Each further concurrent request delays a first token by this share of a prefill, in the median of measured runs."""


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is served: the chip, how it is spread, and `slots`, the requests that one copy holds at once.

    The slots are the memory room's `max_concurrency` over the layout's data-parallel copies. `times_slower`, at least
    and at most, is what weights in RAM make of every step.
    """

    engine: EngineKind
    chip: Chip
    layout: Layout
    slots: float
    link: Link | None = None
    times_slower: tuple[float, float] = (1.0, 1.0)


class ServingLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the whole placement: lengths, and either how many requests at once or how many a second.

    With neither, as many at once as there are slots.
    """

    prompt_tokens: float
    output_tokens: float
    output_tokens_p95: float | None = None
    concurrency: float | None = None
    requests_per_second: float | None = None


class PercentileBands(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that half of all requests, and nineteen in twenty, stay below."""

    p50: SpeedBand
    p95: SpeedBand


class DecodeParts(msgspec.Struct, frozen=True, kw_only=True):
    """One decode step on one GPU: the bytes it reads and sends, and the seconds that each part takes."""

    weights_bytes: float
    cache_bytes: float
    link: Annotated[str, Meta(description="nvlink or pcie.")]
    link_bytes: float
    memory_seconds: float
    cache_seconds: float
    compute_seconds: float
    link_seconds: float
    fixed_seconds: float
    seconds: float


class ServingSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Speed under the load. Latencies are null where requests come faster than they can be served.

    `output_tokens_per_second` is that of the load itself; `capacity_…` what the placement can do at most.
    """

    sustained: bool
    output_tokens_per_second: SpeedBand
    output_tokens_per_second_per_request: SpeedBand
    capacity_requests_per_second: SpeedBand
    capacity_output_tokens_per_second: SpeedBand
    requests_at_once: float
    utilisation: float
    ttft_seconds: PercentileBands | None
    tpot_seconds: PercentileBands | None
    latency_seconds: PercentileBands | None
    decode_step: DecodeParts


class _Asked(NamedTuple):
    """A load on a seat, with what the engine reaches there and the most that it can do."""

    shape: Shape
    seat: Seat
    load: ServingLoad
    output: Lengths
    pace: Pace
    doubt: Doubt
    capacity: float


def serving_speed(
    shape: Shape, seat: Seat, load: ServingLoad, known: SpeedCalibration, *, exact_model: bool = True
) -> ServingSpeed:
    """The speed of *shape* on *seat* under *load*. Raises Invalid where the load names both of its kinds."""
    if load.concurrency is not None and load.requests_per_second is not None:
        raise refusal(FaultCode.AT_MOST_ONE_OF, "", fields=["concurrency", "requests_per_second"])
    pace = seat_pace(shape, seat, known)
    asked = _Asked(
        shape,
        seat,
        load,
        lengths(load.output_tokens, load.output_tokens_p95),
        pace,
        serving_doubt(shape, seat, known, exact_model=exact_model, alone=_alone(seat, load)),
        capacity_requests_per_second(shape, seat, load, pace),
    )
    return _closed(asked) if load.requests_per_second is None else _open(asked, load.requests_per_second)


def _alone(seat: Seat, load: ServingLoad) -> bool:
    """Whether a copy has one request at a time."""
    return seat.slots <= 1 or (load.concurrency is not None and load.concurrency <= seat.layout.data)


def exchanging(layout: Layout) -> int:
    """GPUs that exchange activations within a copy."""
    return max(layout.tensor * layout.pipeline, layout.expert)


def seat_pace(shape: Shape, seat: Seat, known: SpeedCalibration) -> Pace:
    """What the engine reaches of the chip of *seat*."""
    ranks, mixture = exchanging(seat.layout), shape.is_mixture
    return pace_of(seat.engine, seat.chip, shape.kernel, known.values, mixture=mixture, ranks=ranks, asked=seat.link)


def group_of(engine: EngineKind, *, mixture: bool) -> str:
    """The group of rows that predictions of *engine* are judged by."""
    return f"{engine} {'mixture' if mixture else 'dense'}"


def serving_doubt(
    shape: Shape, seat: Seat, known: SpeedCalibration, *, exact_model: bool = True, alone: bool = False
) -> Doubt:
    """How far off predictions for *seat* may be; *alone* is one request at a time, all that some engines' rows show."""
    group = group_of(seat.engine, mixture=shape.is_mixture)
    seen = seat.chip.card is not None and seat.chip.card in known.seen.get(group, ())
    seen = seen and (alone or seat.engine not in SERIAL)
    return doubt(known.spreads.get(group), seen=seen, exact_model=exact_model)


def capacity_requests_per_second(shape: Shape, seat: Seat, load: ServingLoad, pace: Pace) -> float:
    """What all copies serve with every slot taken: the cheap part, for ranking many placements."""
    batch = max(seat.slots, 1.0)
    full = steady(constant_load(shape, seat.layout, batch, load.prompt_tokens, load.output_tokens), pace)
    return full.requests_per_second * seat.layout.data


def _closed(asked: _Asked) -> ServingSpeed:
    """A constant number of requests; those beyond the slots wait for one."""
    load, copies, slots = asked.load, asked.seat.layout.data, max(asked.seat.slots, 1.0)
    wanted = slots if load.concurrency is None else load.concurrency / copies
    batch = max(1.0, min(wanted, slots))
    now = steady(
        constant_load(asked.shape, asked.seat.layout, batch, load.prompt_tokens, load.output_tokens), asked.pace
    )
    first = now.step_seconds + now.prefill_seconds * (1 + QUEUE_PER_REQUEST * batch)
    queued = max(0.0, wanted - batch) / now.requests_per_second
    crowded = now.tpot_seconds + (now.tpot_seconds - now.step_seconds) * Z95 / math.sqrt(batch)
    found = Waiting(
        batch=batch,
        ttft=Percentiles(first + queued, 2 * first + queued),
        tpot=Percentiles(now.tpot_seconds, crowded),
        latency=Percentiles(
            first + queued + asked.output.median * now.tpot_seconds,
            first + queued + asked.output.p95 * now.tpot_seconds,
        ),
    )
    return _speed(asked, now.requests_per_second * copies, found)


def _open(asked: _Asked, arrivals: float) -> ServingSpeed:
    """Random arrivals, shared evenly among the copies."""
    layout, load = asked.seat.layout, asked.load
    queue = queue_of(asked.shape, layout, asked.pace, max(asked.seat.slots, 1.0), load.prompt_tokens, asked.output)
    return _speed(asked, min(arrivals, asked.capacity), waiting(queue, arrivals / layout.data))


def _speed(asked: _Asked, rate: float, found: Waiting | None) -> ServingSpeed:
    """The answer for *rate* requests a second; without *found* the load is more than the placement can do."""
    load, sure, layout = asked.load, asked.doubt, asked.seat.layout
    batch = found.batch if found else max(asked.seat.slots, 1.0)
    work = decode_work(
        asked.shape, layout, max(1.0, batch / layout.pipeline), load.prompt_tokens + load.output_tokens / 2
    )
    step = timed(work, asked.pace)
    each = 1 / found.tpot.p50 if found else rate * load.output_tokens / (batch * layout.data)
    first = sure.wider(FIRST_TOKEN)
    return ServingSpeed(
        sustained=found is not None,
        output_tokens_per_second=sure.rate(rate * load.output_tokens),
        output_tokens_per_second_per_request=sure.rate(each),
        capacity_requests_per_second=sure.rate(asked.capacity),
        capacity_output_tokens_per_second=sure.rate(asked.capacity * load.output_tokens),
        requests_at_once=batch * layout.data,
        utilisation=rate / asked.capacity,
        ttft_seconds=_bands(found.ttft, first) if found else None,
        tpot_seconds=_bands(found.tpot, sure) if found else None,
        latency_seconds=_bands(found.latency, sure) if found else None,
        decode_step=DecodeParts(
            weights_bytes=work.weights_bytes,
            cache_bytes=work.cache_bytes,
            link=asked.pace.link,
            link_bytes=work.sent_bytes,
            memory_seconds=step.memory_seconds,
            cache_seconds=step.cache_seconds,
            compute_seconds=step.compute_seconds,
            link_seconds=step.link_seconds,
            fixed_seconds=step.fixed_seconds,
            seconds=step.seconds,
        ),
    )


def _bands(found: Percentiles, sure: Doubt) -> PercentileBands:
    return PercentileBands(p50=sure.time(found.p50), p95=sure.time(found.p95))
