"""What the speed model says of an option of /cost: the model, the workload and the cards are looked up here."""

from __future__ import annotations

import msgspec

from cardmatch.answers.misfit import fitted
from cardmatch.answers.model import ModelReference, check_generates, resolve_model
from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.card import Card, mig_profile
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.device import slice_device, whole_device
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.settle import settle as settle_training
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.option import Measured, Option, Predicted, Reported
from cardmatch.engine.money.price import OfferPrice
from cardmatch.engine.money.rating import Predictor
from cardmatch.engine.money.work import WORK, Work
from cardmatch.engine.speed.band import SpeedBand
from cardmatch.engine.speed.chip import chip_of
from cardmatch.engine.speed.placed import seated
from cardmatch.engine.speed.serving import ServingLoad, ServingSpeed, serving_speed
from cardmatch.engine.speed.shape import shape_of
from cardmatch.engine.speed.throughput import Throughput, WorkUnit
from cardmatch.engine.speed.training import run_of, training_speed
from cardmatch.engine.terms.fault import FaultCode, refusal


class _Named(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prediction is of."""

    model: ModelReference
    workload: Inference


class _Trained(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prediction of training is of."""

    model: ModelReference
    workload: Training


TRAINING_UNITS = frozenset({WorkUnit.TRAIN_TOKEN, WorkUnit.SAMPLE})
LANGUAGE_UNITS = frozenset({WorkUnit.TOKEN, WorkUnit.OUTPUT_TOKEN, WorkUnit.REQUEST})


def predictor(world: World, work: Work, options: tuple[Option, ...]) -> Predictor:
    """Who predicts for *work*. Raises Invalid where a prediction is asked for and requests have no lengths."""
    lengths_missing = work.prompt_tokens is None or work.output_tokens is None
    if work.unit in LANGUAGE_UNITS and lengths_missing and any(_predicts(option) for option in options):
        raise refusal(FaultCode.REQUEST_LENGTHS_MISSING, WORK)

    def predict(option: Option, asked: Predicted, unit: WorkUnit) -> Throughput:
        if unit in TRAINING_UNITS:
            return _training(world, option, asked, unit)
        if unit not in LANGUAGE_UNITS:
            raise refusal(FaultCode.THROUGHPUT_NOT_PREDICTED, "/kind")
        prompt, output = work.prompt_tokens or 1, work.output_tokens or 1
        speed = _serving(world, option, asked, prompt, output)
        per_token = {
            WorkUnit.TOKEN: (prompt + output) / output,
            WorkUnit.OUTPUT_TOKEN: 1.0,
            WorkUnit.REQUEST: 1 / output,
        }
        return _throughput(unit, speed.output_tokens_per_second, per_token[unit])

    return predict


def _training(world: World, option: Option, asked: Predicted, unit: WorkUnit) -> Throughput:
    """The speed of training on all GPUs of *option*; a sample is a sequence of the workload's length."""
    named = fitted({"model": asked.model, "workload": {"kind": "training", **asked.workload}}, _Trained)
    model = resolve_model(world, named.model)
    job, _ = settle_training(named.workload, model.architecture, model.checkpoint, model.spread)
    card, placement = _placement(world, option, _offer(world, option))
    placement = msgspec.structs.replace(placement, layout=Layout(data=placement.count))
    memory = estimate_training(
        model.architecture, model.checkpoint, named.workload, (placement,), world.calibration.training
    )
    if memory.placements[0].verdict is Verdict.DOES_NOT_FIT:
        raise refusal(FaultCode.MODEL_DOES_NOT_FIT, "/model", card=card.id, count=placement.count)
    speed = training_speed(run_of(job, placement.count), chip_of(card), world.calibration.speed)
    per_token = 1.0 if unit is WorkUnit.TRAIN_TOKEN else 1 / job.sequence_tokens
    return _throughput(unit, speed.tokens_per_second, per_token)


def _predicts(option: Option) -> bool:
    given = option.throughput
    return isinstance(given, Predicted) or (isinstance(given, Measured | Reported) and given.prediction is not None)


def _serving(world: World, option: Option, asked: Predicted, prompt: int, output: int) -> ServingSpeed:
    """The speed on all GPUs of *option*: at the workload's concurrency, or with every slot taken."""
    named = fitted({"model": asked.model, "workload": {"kind": "inference", **asked.workload}}, _Named)
    workload, model = named.workload, resolve_model(world, named.model)
    check_generates(model, "inference")
    tokens = prompt + output
    context = max(tokens, workload.context_tokens or 0)
    asked_for = msgspec.structs.replace(workload, context_tokens=context, mean_tokens_per_request=tokens)
    job, _ = settle(asked_for, model.architecture, model.checkpoint, model.spread)
    offer = _offer(world, option)
    card, placement = _placement(world, option, offer)
    chip = chip_of(card, mig_profile(card, offer.mig_profile) if offer and offer.mig_profile else None)
    seat = seated(job, workload.engine, placement, chip, world.calibration.serving)
    if seat is None:
        raise refusal(FaultCode.MODEL_DOES_NOT_FIT, "/model", card=card.id, count=placement.count)
    load = ServingLoad(prompt_tokens=prompt, output_tokens=output, concurrency=workload.concurrency)
    return serving_speed(shape_of(job), seat, load, world.calibration.speed, exact_model=model.size is None)


def _offer(world: World, option: Option) -> Offer | None:
    return world.offers.get(option.price.offer) if isinstance(option.price, OfferPrice) else None


def _placement(world: World, option: Option, offer: Offer | None) -> tuple[Card, Placement]:
    """The cards that the option rents. Raises Invalid where it names none."""
    name = option.card or (offer.card if offer else None)
    if name is None:
        raise refusal(FaultCode.NEEDS_FIELD, "/kind", field="card")
    card = world.cards[name]
    mig = offer.mig_profile if offer else None
    device = slice_device(card, mig) if mig else whole_device(card)
    link = Link(offer.link.value) if offer and offer.link else None
    return card, Placement(device=device, count=option.count or (offer.gpu_count if offer else None) or 1, link=link)


def _throughput(unit: WorkUnit, band: SpeedBand, per_token: float) -> Throughput:
    return Throughput(
        unit=unit,
        low_units_per_second=band.low * per_token,
        expected_units_per_second=band.expected * per_token,
        high_units_per_second=band.high * per_token,
        basis=band.basis,
    )
