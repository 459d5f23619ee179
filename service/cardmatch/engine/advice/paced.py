"""The speed room's answers as the search asks for them: a curve for each form, models and chips looked up once."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cardmatch.engine.advice.pace import Curve, Paces, Sent, Served, Trained, Waits
from cardmatch.engine.advice.presets import Network
from cardmatch.engine.hardware.card import Card, mig_profile
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.speed.arrivals import queue_of, waiting
from cardmatch.engine.speed.band import Doubt
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip, chip_of
from cardmatch.engine.speed.lengths import lengths
from cardmatch.engine.speed.pace import Pace
from cardmatch.engine.speed.placed import seat_of
from cardmatch.engine.speed.serving import QUEUE_PER_REQUEST, Seat, exchanging, seat_pace, serving_doubt
from cardmatch.engine.speed.shape import Shape, shape_of
from cardmatch.engine.speed.steady import settled
from cardmatch.engine.speed.step import SIXTEEN_BITS, decode_work, decoding, link_seconds, prefill_work, timed
from cardmatch.engine.speed.training import run_of, training_speed
from cardmatch.engine.terms.units import GB


class _Place(NamedTuple):
    """A shape on a seat, what the engine reaches there, how sure that is, and seconds a prompt token travels."""

    shape: Shape
    seat: Seat
    pace: Pace
    sure: Doubt
    travel_seconds: float
    curves: dict[tuple[int, int], Curve]

    def curve(self, prompt_tokens: int, output_tokens: int) -> Curve:
        """Times at any number of requests at once of these lengths; bounds and trials ask for the same one."""
        found = self.curves.get((prompt_tokens, output_tokens))
        if found is None:
            found = self.curves[prompt_tokens, output_tokens] = _curve(self, prompt_tokens, output_tokens)
        return found


class _Known(NamedTuple):
    """What one request looks up only once: shapes by job (which they keep alive), chips by card and slice."""

    speed: SpeedCalibration
    network: Network
    exact_model: bool
    shapes: dict[int, tuple[ServingJob, Shape]]
    chips: dict[tuple[str, str | None], Chip]
    places: dict[tuple[object, ...], _Place]
    paces: dict[tuple[object, ...], tuple[Pace, Doubt]]

    def shape(self, job: ServingJob) -> Shape:
        """The shape of *job*."""
        found = self.shapes.get(id(job))
        if found is None:
            found = self.shapes[id(job)] = (job, shape_of(job))
        return found[1]

    def chip(self, card: Card, mig: str | None) -> Chip:
        """The chip of *card*, or of its slice."""
        found = self.chips.get((card.id, mig))
        if found is None:
            profile = mig_profile(card, mig) if mig is not None else None
            found = self.chips[card.id, mig] = chip_of(card, profile)
        return found

    def place(self, job: ServingJob, engine: AnyEngine, card: Card, where: Placement) -> _Place:
        """*job* on *where*."""
        layout = where.layout
        key = (id(job), card.id, where.device.mig, layout.tensor, layout.pipeline, where.link, where.nodes)
        found = self.places.get(key)
        if found is None:
            shape, chip = self.shape(job), self.chip(card, where.device.mig)
            seat = seat_of(engine, where, chip, 1)
            found = self.places[key] = _placed(self, shape, seat, where.nodes)
        return found

    def pace(self, shape: Shape, seat: Seat) -> tuple[Pace, Doubt]:
        """What the engine reaches on *seat*, and how sure that is: models count by kernels, layouts by link."""
        chip, mixture = seat.chip, shape.is_mixture
        key = (seat.engine, id(chip), shape.kernel, mixture, chip.link(exchanging(seat.layout), seat.link))
        found = self.paces.get(key)
        if found is None:
            sure = serving_doubt(shape, seat, self.speed, exact_model=self.exact_model)
            found = self.paces[key] = (seat_pace(shape, seat, self.speed), sure)
        return found


def _placed(known: _Known, shape: Shape, seat: Seat, nodes: int) -> _Place:
    """Between machines go the activations of each token, from a stage to the next, over the network."""
    if nodes == 1:
        pace, sure = known.pace(shape, seat)
        return _Place(shape, seat, pace, sure, 0.0, {})
    layout = msgspec.structs.replace(seat.layout, pipeline=seat.layout.pipeline // nodes)
    inside, sure = known.pace(shape, msgspec.structs.replace(seat, layout=layout))
    hops, network = nodes - 1, known.network
    travel = hops * shape.hidden * SIXTEEN_BITS / (network.gb_s * GB)
    pace = inside._replace(
        step_seconds=inside.step_seconds + hops * network.hop_seconds,
        request_seconds=inside.request_seconds + travel,
    )
    return _Place(shape, seat, pace, sure, travel, {})


def paces_of(speed: SpeedCalibration, network: Network, *, exact_model: bool) -> Paces:
    """The paces of one request."""
    known = _Known(speed, network, exact_model, {}, {}, {}, {})

    def serving(
        job: ServingJob, engine: AnyEngine, card: Card, where: Placement, prompt_tokens: int, output_tokens: int
    ) -> Curve:
        return known.place(job, engine, card, where).curve(prompt_tokens, output_tokens)

    def queue(
        job: ServingJob, engine: AnyEngine, card: Card, where: Placement, prompt: int, output: int, longest: float
    ) -> Waits:
        return _waits(known.place(job, engine, card, where), prompt, output, longest)

    def links(
        job: ServingJob, engine: AnyEngine, card: Card, where: Placement, prompt: int, output: int, batch: float
    ) -> Sent:
        return _sent(known.place(job, engine, card, where), known, prompt + output / 2, batch, where.nodes)

    def training(job: TrainingJob, card: Card, where: Placement) -> Trained:
        spread = run_of(job, where.count, machines=where.nodes, network_bytes=network.gb_s * GB, link=where.link)
        found = training_speed(spread, known.chip(card, None), speed).tokens_per_second
        return Trained(found.expected, found.low / found.expected, found.high / found.expected, found.basis)

    return Paces(serving=serving, training=training, waiting=queue, links=links)


def _curve(place: _Place, prompt_tokens: int, output_tokens: int) -> Curve:
    """Times at any number of requests at once; a first token waits as the speed room found it does."""
    shape, layout, pace, sure = place.shape, place.seat.layout, place.pace, place.sure
    low, high = 1 / sure.high_ratio, 1 / sure.low_ratio
    travel, stages, output = place.travel_seconds * prompt_tokens, layout.pipeline, max(output_tokens, 1.0)
    context = prompt_tokens + output_tokens / 2
    prefill = timed(prefill_work(shape, layout, prompt_tokens), pace).seconds
    decode = decoding(shape, layout, context)
    known: dict[float, Served] = {}

    def at(batch: float) -> Served:
        found = known.get(batch)
        if found is None:
            found = known[batch] = reckoned(batch)
        return found

    def reckoned(batch: float) -> Served:
        step = timed(decode(max(1.0, batch / stages)), pace)
        now = settled(batch, stages, output, step.seconds, prefill)
        reading = step.memory_seconds + step.cache_seconds
        return Served(
            batch=batch,
            ttft_seconds=now.step_seconds + now.prefill_seconds * (1 + QUEUE_PER_REQUEST * batch) + travel,
            tpot_seconds=now.tpot_seconds,
            requests_per_second=now.requests_per_second,
            low_ratio=low,
            high_ratio=high,
            basis=sure.basis,
            memory_share=min(reading / now.tpot_seconds, 1.0),
            compute_share=max(0.0, step.compute_seconds + now.tpot_seconds - now.step_seconds) / now.tpot_seconds,
        )

    return at


def _waits(place: _Place, prompt_tokens: int, output_tokens: int, longest: float) -> Waits:
    """Times under random arrivals, as the speed room's queues have them."""
    output, sure = lengths(output_tokens, longest), place.sure
    travel = place.travel_seconds * prompt_tokens
    alone = place.curve(prompt_tokens, output_tokens)
    queue = queue_of(place.shape, place.seat.layout, place.pace, 1.0, prompt_tokens, output)

    def at(arrivals: float, slots: int) -> Served | None:
        found = waiting(queue._replace(slots=float(slots)), arrivals)
        if found is None:
            return None
        shares = alone(max(found.batch, 1.0))
        return Served(
            batch=found.batch,
            ttft_seconds=found.ttft.p50 + travel,
            tpot_seconds=found.tpot.p50,
            requests_per_second=arrivals,
            low_ratio=1 / sure.high_ratio,
            high_ratio=1 / sure.low_ratio,
            basis=sure.basis,
            memory_share=shares.memory_share,
            compute_share=shares.compute_share,
            ttft_p95_seconds=found.ttft.p95 + travel,
            tpot_p95_seconds=found.tpot.p95,
            request_p95_seconds=found.latency.p95 + travel,
        )

    return at


def _sent(place: _Place, known: _Known, context: float, batch: float, nodes: int) -> Sent:
    """A decode step's bytes of each GPU, and their time over either link inside of a machine."""
    shape, seat = place.shape, place.seat
    layout = msgspec.structs.replace(seat.layout, pipeline=seat.layout.pipeline // nodes)
    work = decode_work(shape, layout, max(1.0, batch / seat.layout.pipeline), context)
    within = layout.tensor * layout.pipeline
    joined = within <= seat.chip.nvlink_gpus
    fast = Link.NVSWITCH if seat.chip.switched else Link.BRIDGE
    seconds = []
    for link in (Link.PCIE, fast) if joined else (Link.PCIE,):
        pace = seat_pace(shape, msgspec.structs.replace(seat, layout=layout, link=link), known.speed)
        seconds.append(link_seconds(work, pace))
    return Sent(work.sent_bytes, seconds[0], seconds[1] if joined else 0.0)
