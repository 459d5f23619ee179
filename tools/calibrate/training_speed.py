"""Fits the constants of training speed from measured tokens per second."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from cardmatch.engine.speed.calibration import Constant, Residual, SpeedCalibration, Spread
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.training import (
    ANY_FRAMEWORK,
    EXCHANGE,
    Run,
    group_of,
    names,
    powers,
    tokens_per_second_per_gpu,
)
from tools.calibrate.posterior import Prior, Row, most_probable
from tools.calibrate.robust import quantile

PRIORS = {
    "train": Prior(0.55, 0.2),
    "train/balance": Prior(0.75, 0.1),
    "train/compiled": Prior(1.1, 0.1),
    "train/doubling": Prior(0.97, 0.05),
    "train/eager": Prior(0.9, 0.1),
    "train/exchange": Prior(0.5, 0.1),
    "train/fp8": Prior(1.3, 0.1),
    "train/halving": Prior(0.95, 0.05),
    "train/lora": Prior(0.95, 0.1),
    "train/mixture": Prior(0.85, 0.1),
    "train/narrowing": Prior(0.93, 0.05),
    "train/qlora": Prior(0.95, 0.1),
}
"""Shares and factors as published runs of any framework have them. LLM.Q reaches 80 % of GeForce cards and 59 % of
cards with twice the operations per byte: three quarters per doubling.
"""

FACTOR_WIDTH = 0.1
FEWEST_ROWS = 3
"""What fewer rows say of a chip or a framework may be a matter of their set-up."""

TAIL, TENTH, FEWEST = 0.06, 0.1, 10
FEW_LOW, FEW_HIGH = 0.6, 1.6


class Seen(NamedTuple):
    """A measured rate per GPU, in tokens a second."""

    case: str
    source: str
    card: str
    run: Run
    chip: Chip
    rate: float

    @property
    def group(self) -> str:
        """The group of rows that it belongs to."""
        return group_of(self.run)


def ratio(seen: Seen, known: Mapping[str, float]) -> float:
    """Measured over predicted time per token."""
    return tokens_per_second_per_gpu(seen.run, seen.chip, known) / seen.rate


def _named(seen: Seen) -> set[str]:
    """The constants that predict *seen*."""
    exchanged = {EXCHANGE} if seen.run.tensor > 1 else set()
    return {*names(seen.run, seen.chip), *powers(seen.run, seen.chip), *exchanged}


def fit(rows: Sequence[Seen]) -> dict[str, float]:
    """The constants that *rows* call for; a group of n rows weighs like its square root."""
    counts = Counter(name for each in rows for name in _named(each))
    priors = dict(PRIORS)
    for name, number in counts.items():
        if number >= FEWEST_ROWS and name not in priors:
            priors[name] = Prior(1.0, FACTOR_WIDTH)
    sizes = Counter(each.group for each in rows)
    return most_probable([_row(each, 1 / math.sqrt(sizes[each.group]), priors) for each in rows], priors)


def _row(seen: Seen, weight: float, priors: Mapping[str, Prior]) -> Row:
    """*seen* with each constant as a quantity: some count in powers."""
    parts = {name: (name,) for name in sorted(_named(seen) & priors.keys())}
    return Row(parts, lambda found: -math.log(ratio(seen, found)), weight)


def left_out(rows: Sequence[Seen]) -> dict[str, dict[str, float]]:
    """For each lot, the constants that the other rows call for."""
    lots = {lot_of(each, rows) for each in rows}
    return {lot: fit([each for each in rows if lot_of(each, rows) != lot]) for lot in sorted(lots)}


def lot_of(each: Seen, rows: Sequence[Seen]) -> str:
    """What is left out with *each*: its source, or, where its framework has one source only, its card's rows there."""
    sources = {other.source for other in rows if other.group == each.group}
    return each.source if len(sources) > 1 else f"{each.group} on {each.card}"


def constants(rows: Sequence[Seen], others: Mapping[str, Mapping[str, float]]) -> dict[str, Constant]:
    """The constants with their ranges over *others*."""
    found = {}
    for name, value in fit(rows).items():
        moved = [each for each in rows if name in _named(each)]
        range_ = [value, *(each[name] for each in others.values() if name in each)]
        found[name] = Constant(
            value=_rounded(value),
            low=_rounded(min(range_)),
            high=_rounded(max(range_)),
            rows=len(moved),
            sources=len({each.source for each in moved}),
        )
    return found


def spreads(
    rows: Sequence[Seen], known: Mapping[str, float], others: Mapping[str, Mapping[str, float]]
) -> dict[str, Spread]:
    """The spread of each framework's rows, and of all together; left out where *others* are given."""
    groups = {group: [each for each in rows if each.group == group] for group in sorted({each.group for each in rows})}
    groups[ANY_FRAMEWORK] = list(rows)
    found = {}
    for group, own in groups.items():
        within = [ratio(each, known) for each in own]
        low, high = quantile(within, TAIL), quantile(within, 1 - TAIL)
        if others:
            apart = [ratio(each, others[lot_of(each, rows)]) for each in own]
            low, high = min(low, quantile(apart, TENTH)), max(high, quantile(apart, 1 - TENTH))
        if len(own) < FEWEST:
            low, high = min(low, FEW_LOW), max(high, FEW_HIGH)
        found[group] = Spread(low_ratio=_rounded(min(low, 0.9)), high_ratio=_rounded(max(high, 1.1)), rows=len(own))
    return found


def residuals(
    rows: Sequence[Seen], known: Mapping[str, float], others: Mapping[str, Mapping[str, float]]
) -> tuple[Residual, ...]:
    """What each row measured over what is predicted, in the sample and left out."""
    return tuple(
        [
            Residual(
                case=each.case,
                source=each.source,
                group=each.group,
                ratio=_rounded(ratio(each, known)),
                ratio_left_out=_rounded(ratio(each, others[lot_of(each, rows)])),
            )
            for each in rows
        ]
    )


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def with_training(known: SpeedCalibration, rows: Sequence[Seen], *, ranges: bool = True) -> SpeedCalibration:
    """*known* with the constants of training beside; with *ranges* also what leaving lots out does."""
    others = left_out(rows) if ranges else {}
    found = constants(rows, others)
    values = {name: each.value for name, each in found.items()}
    groups = sorted({each.group for each in rows})
    cards = {group: tuple(sorted({each.card for each in rows if each.group == group})) for group in groups}
    return msgspec.structs.replace(
        known,
        constants=known.constants | found,
        spreads=known.spreads | spreads(rows, values, others),
        seen=known.seen | cards,
        residuals=known.residuals + (residuals(rows, values, others) if ranges else ()),
    )
