"""Fits the constants of image speed from measured seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from cardmatch.engine.speed.calibration import Constant, Residual, SpeedCalibration, Spread
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.images import GROUP, Denoiser, Picture, names, step_seconds
from tools.calibrate.robust import Term, minimise, quantile

PRIORS = {"denoise": 0.45, "denoise/eager/hbm": 0.85, "denoise/eager/gddr": 0.85}
BASE_PULL, PULL = 0.5, 0.3
TAIL = 0.08


class Made(NamedTuple):
    """Pictures that were made: seconds of a batch on one card."""

    case: str
    source: str
    card: str
    network: Denoiser
    picture: Picture
    chip: Chip
    seconds: float

    @property
    def constants(self) -> tuple[str, ...]:
        """Names of the constants that predict it."""
        return names(self.chip, compiled=self.picture.compiled)


def ratio(made: Made, known: Mapping[str, float]) -> float:
    """Measured over predicted time."""
    return made.seconds / (step_seconds(made.network, made.picture, made.chip, known) * made.picture.steps)


def fit(rows: Sequence[Made]) -> dict[str, float]:
    """The constants that *rows* call for."""
    order = sorted({name for each in rows for name in each.constants})
    priors = [PRIORS.get(name, 1.0) for name in order]
    terms = [_term(each, order) for each in rows]
    pulls = [_pull(index, prior, BASE_PULL if prior != 1 else PULL) for index, prior in enumerate(priors)]
    return dict(zip(order, minimise([*terms, *pulls], priors), strict=True))


def _pull(index: int, prior: float, weight: float) -> Term:
    return Term(lambda values: weight * abs(math.log(values[index] / prior)), frozenset((index,)))


def _term(made: Made, order: Sequence[str]) -> Term:
    indices = [order.index(name) for name in made.constants]
    base = ratio(made, {})

    def loss(values: Sequence[float]) -> float:
        return abs(math.log(base) + sum(math.log(values[index]) for index in indices))

    return Term(loss, frozenset(indices))


def lot_of(made: Made) -> str:
    """What is left out with *made*: its source; all submitters of MLPerf ran one benchmark, so there, its card."""
    return f"{made.source} on {made.card}" if "mlcommons" in made.source else made.source


def with_images(known: SpeedCalibration, rows: Sequence[Made], *, ranges: bool = True) -> SpeedCalibration:
    """*known* with the constants of making images beside."""
    values = fit(rows)
    lots = sorted({lot_of(each) for each in rows}) if ranges else []
    others = {lot: fit([each for each in rows if lot_of(each) != lot]) for lot in lots}
    apart = [ratio(each, others[lot_of(each)]) if ranges else ratio(each, values) for each in rows]
    low, high = quantile(apart, TAIL), quantile(apart, 1 - TAIL)
    spread = Spread(low_ratio=_rounded(min(low, 0.85)), high_ratio=_rounded(max(high, 1.15)), rows=len(rows))
    return msgspec.structs.replace(
        known,
        constants=known.constants | {name: _constant(name, value, others, rows) for name, value in values.items()},
        spreads=known.spreads | {GROUP: spread},
        seen=known.seen | {GROUP: tuple(sorted({each.card for each in rows}))},
        residuals=known.residuals
        + tuple(
            [
                Residual(
                    case=each.case,
                    source=each.source,
                    group=GROUP,
                    ratio=_rounded(ratio(each, values)),
                    ratio_left_out=_rounded(left),
                )
                for each, left in zip(rows, apart, strict=True)
            ]
        ),
    )


def _constant(name: str, value: float, others: Mapping[str, Mapping[str, float]], rows: Sequence[Made]) -> Constant:
    moved = [each for each in rows if name in each.constants]
    range_ = [value, *(each[name] for each in others.values() if name in each)]
    return Constant(
        value=_rounded(value),
        low=_rounded(min(range_)),
        high=_rounded(max(range_)),
        rows=len(moved),
        sources=len({each.source for each in moved}),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
