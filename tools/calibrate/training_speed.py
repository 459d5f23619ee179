"""Fits the constants of training speed from measured tokens per second."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from cardmatch.engine.speed.calibration import Constant, Residual, SpeedCalibration, Spread
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.training import Run, executed_flops, group_of, names, powers, rate_of
from tools.calibrate.robust import Term, minimise, quantile

PRIORS = {
    "train": 0.55,
    "train/fp8": 1.3,
    "train/lora": 0.9,
    "train/qlora": 0.85,
    "train/mixture": 0.7,
    "train/eager": 0.9,
    "train/compiled": 1.1,
    "train/doubling": 0.97,
    "train/halving": 0.97,
    "train/narrowing": 0.95,
}
BASE_PULL, PULL = 1.0, 0.15
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
    share = math.exp(sum(power * math.log(known.get(name, 1.0)) for name, power in _powers(seen).items()))
    return rate_of(seen.chip) * share / executed_flops(seen.run) / seen.rate


def _powers(seen: Seen) -> dict[str, float]:
    return {**dict.fromkeys(names(seen.run, seen.chip), 1.0), **powers(seen.run)}


def fit(rows: Sequence[Seen]) -> dict[str, float]:
    """The constants that *rows* call for; a group of n rows weighs like its square root."""
    counts = Counter(name for each in rows for name in _powers(each))
    order = sorted(name for name, number in counts.items() if number >= FEWEST_ROWS)
    position = {name: index for index, name in enumerate(order)}
    priors = [PRIORS.get(name, 1.0) for name in order]
    sizes = {group: sum(each.group == group for each in rows) for group in {each.group for each in rows}}
    terms = [_term(each, 1 / math.sqrt(sizes[each.group]), position) for each in rows]
    pulls = [_pull(index, priors[index], BASE_PULL if name in PRIORS else PULL) for name, index in position.items()]
    return dict(zip(order, minimise([*terms, *pulls], priors), strict=True))


def _pull(index: int, prior: float, weight: float) -> Term:
    return Term(lambda values: weight * abs(math.log(values[index] / prior)), frozenset((index,)))


def _term(seen: Seen, weight: float, position: Mapping[str, int]) -> Term:
    powers_ = _powers(seen)
    parts = [(position[name], power) for name, power in powers_.items() if name in position]
    base = math.log(rate_of(seen.chip) / executed_flops(seen.run) / seen.rate)

    def loss(values: Sequence[float]) -> float:
        return weight * abs(base + sum(power * math.log(values[index]) for index, power in parts))

    return Term(loss, frozenset(index for index, _ in parts))


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
        moved = [each for each in rows if name in _powers(each)]
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
    """The spread of each framework's rows, left out where *others* are given."""
    found = {}
    for group in sorted({each.group for each in rows}):
        own = [ratio(each, known) for each in rows if each.group == group]
        low, high = quantile(own, TAIL), quantile(own, 1 - TAIL)
        if others:
            apart = [ratio(each, others[lot_of(each, rows)]) for each in rows if each.group == group]
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
