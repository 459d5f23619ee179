"""How fast texts are embedded or ranked: a prefill without an answer."""

from __future__ import annotations

import msgspec

from cardmatch.engine.speed.band import SpeedBand
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.serving import Seat, seat_pace, serving_doubt
from cardmatch.engine.speed.shape import Shape
from cardmatch.engine.speed.step import prefill_work, timed


class EncodeSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Texts and tokens a second on all GPUs, and seconds of one batch on one copy."""

    items_per_second: SpeedBand
    tokens_per_second: SpeedBand
    batch_seconds: SpeedBand


def encode_speed(
    shape: Shape, seat: Seat, *, batch: int, tokens: float, known: SpeedCalibration, exact_model: bool = True
) -> EncodeSpeed:
    """Batches of *batch* texts of *tokens* each, on every copy of *seat*.

    The weights are read once a batch beside the arithmetic; every kernel is launched once.
    """
    pace = seat_pace(shape, seat, known)
    one = prefill_work(shape, seat.layout, tokens)
    read = shape.weights.total + sum(each.bytes for each in shape.experts)
    whole = one._replace(
        flops=one.flops * batch,
        sent_bytes=one.sent_bytes * batch,
        weights_bytes=read / seat.layout.tensor,
        launches=shape.launches,
        requests=float(batch),
    )
    seconds = timed(whole, pace).seconds
    rate = batch / seconds * seat.layout.data
    sure = serving_doubt(shape, seat, known, exact_model=exact_model)
    return EncodeSpeed(
        items_per_second=sure.rate(rate),
        tokens_per_second=sure.rate(rate * tokens),
        batch_seconds=sure.time(seconds),
    )
