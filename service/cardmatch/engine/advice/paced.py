"""The speed room's answers as the search asks for them: a curve for each form, models and chips looked up once."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.advice.pace import Curve, Paces, Served, Trained
from cardmatch.engine.hardware.card import Card, mig_profile
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip, chip_of
from cardmatch.engine.speed.pace import Pace, pace_of
from cardmatch.engine.speed.placed import seat_of
from cardmatch.engine.speed.serving import QUEUE_PER_REQUEST, Seat, seat_pace, serving_doubt
from cardmatch.engine.speed.shape import Shape, shape_of
from cardmatch.engine.speed.steady import constant_load, steady
from cardmatch.engine.speed.step import timed
from cardmatch.engine.speed.training import run_of, training_speed


class _Known(NamedTuple):
    """What one request looks up only once: shapes by job (which they keep alive), chips by card and slice."""

    speed: SpeedCalibration
    exact_model: bool
    shapes: dict[int, tuple[ServingJob, Shape]]
    chips: dict[tuple[str, str | None], Chip]

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


def paces_of(speed: SpeedCalibration, *, exact_model: bool) -> Paces:
    """The paces of one request."""
    known = _Known(speed, exact_model, {}, {})

    def serving(
        job: ServingJob, engine: AnyEngine, card: Card, where: Placement, prompt_tokens: int, output_tokens: int
    ) -> Curve:
        shape, chip = known.shape(job), known.chip(card, where.device.mig)
        seat = seat_of(engine, where, chip, 1)
        return _curve(shape, seat, known, prompt_tokens, output_tokens)

    def training(job: TrainingJob, card: Card, where: Placement) -> Trained:
        found = training_speed(run_of(job, where.count), known.chip(card, None), speed).tokens_per_second
        return Trained(found.expected, found.low / found.expected, found.high / found.expected, found.basis)

    return Paces(serving=serving, training=training)


def _curve(shape: Shape, seat: Seat, known: _Known, prompt_tokens: int, output_tokens: int) -> Curve:
    """Times of *seat* at any number of requests at once; a first token waits as the speed room found it does."""
    pace = seat_pace(shape, seat, known.speed)
    sure = serving_doubt(shape, seat, known.speed, exact_model=known.exact_model)
    low, high = 1 / sure.high_ratio, 1 / sure.low_ratio
    links = _links(shape, seat, known) if seat.layout.gpus > 1 else ()

    def at(batch: float) -> Served:
        load = constant_load(shape, seat.layout, batch, prompt_tokens, output_tokens)
        now = steady(load, pace)
        step = timed(load.decode, pace)
        reading = step.memory_seconds + step.cache_seconds
        seconds = [load.decode.exchanges * link.hop_seconds + load.decode.sent_bytes / link.hop_bytes for link in links]
        return Served(
            batch=batch,
            ttft_seconds=now.step_seconds + now.prefill_seconds * (1 + QUEUE_PER_REQUEST * batch),
            tpot_seconds=now.tpot_seconds,
            requests_per_second=now.requests_per_second,
            low_ratio=low,
            high_ratio=high,
            basis=sure.basis,
            memory_share=min(reading / now.tpot_seconds, 1.0),
            compute_share=max(0.0, step.compute_seconds + now.tpot_seconds - now.step_seconds) / now.tpot_seconds,
            link_bytes=load.decode.sent_bytes,
            pcie_seconds=seconds[0] if seconds else 0.0,
            nvlink_seconds=seconds[1] if len(seconds) > 1 else 0.0,
        )

    return at


def _links(shape: Shape, seat: Seat, known: _Known) -> tuple[Pace, ...]:
    """The pace over PCIe, and over NVLink where the card has it."""
    ranks = seat.layout.tensor * seat.layout.pipeline

    def over(link: Link) -> Pace:
        mixture = shape.is_mixture
        return pace_of(
            seat.engine, seat.chip, shape.kernel, known.speed.values, mixture=mixture, ranks=ranks, asked=link
        )

    if ranks > seat.chip.nvlink_gpus:
        return (over(Link.PCIE),)
    return over(Link.PCIE), over(Link.NVSWITCH if seat.chip.switched else Link.BRIDGE)
