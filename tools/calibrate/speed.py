"""Fits the constants of serving speed from measured rates; `tests/truth` turns cases into observations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.speed.calibration import Constant, Residual, SpeedCalibration, Spread
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.kernels import Kernel, native
from cardmatch.engine.speed.pace import EngineKind, names, product, reached
from cardmatch.engine.speed.steady import Load, steady
from cardmatch.engine.speed.step import timed
from tools.calibrate.posterior import Row, most_probable
from tools.calibrate.robust import quantile
from tools.calibrate.speed_priors import BASES, prior

SOURCE_POWER = 0.35
"""A source of n rows weighs n to the power of 1 - this: between one vote a source and one a row."""


class Observation(NamedTuple):
    """A measured time with what predicts it: per output token of one request, per prompt token for a prefill, per
    request for a rate. `decode` is the work of a step, of which `seconds` is the time where nothing else runs.
    """

    case: str
    source: str
    card: str
    group: str
    quantity: str
    engine: EngineKind
    chip: Chip
    kernel: Kernel
    mixture: bool
    ranks: int
    asked_link: Link | None
    copies: int
    prompt_tokens: float
    load: Load
    seconds: float

    @property
    def constants(self) -> dict[str, tuple[str, ...]]:
        """Names of the constants that predict it."""
        link = self.chip.link(self.ranks, self.asked_link)[0]
        return names(self.engine, self.chip.kind, native(self.kernel, self.chip.rates), link, mixture=self.mixture)


def predicted(seen: Observation, found: Mapping[str, float]) -> float:
    """The seconds at the quantities *found*."""
    link, rate = seen.chip.link(seen.ranks, seen.asked_link)
    pace = reached(seen.chip, native(seen.kernel, seen.chip.rates), link, rate, found)
    if seen.quantity == "single":
        return timed(seen.load.decode, pace).seconds
    if seen.quantity == "prefill":
        return timed(seen.load.prefill, pace).seconds / seen.prompt_tokens
    state = steady(seen.load, pace)
    return state.tpot_seconds if seen.quantity == "tpot" else 1 / (state.requests_per_second * seen.copies)


def known_of(seen: Observation, known: Mapping[str, float]) -> dict[str, float]:
    """The quantities of *seen* from constants by name."""
    return {quantity: product(parts, known) for quantity, parts in seen.constants.items()}


def fit(seen: Sequence[Observation]) -> dict[str, float]:
    """The constants that *seen* call for; bases that none speaks to as physics has them."""
    counts = Counter(each.source for each in seen)
    named = {name for each in seen for parts in each.constants.values() for name in parts}
    rows = [Row(each.constants, _error(each), counts[each.source] ** -SOURCE_POWER) for each in seen]
    return most_probable(rows, {name: prior(name) for name in named | set(BASES)})


def _error(seen: Observation) -> Callable[[Mapping[str, float]], float]:
    return lambda found: math.log(predicted(seen, found) / seen.seconds)


TAIL = 0.06
"""Share of a group's rows beyond either end of its band. They are in the sample; rows of other sources lie wider."""
TENTH = 0.1
FEWEST = 10
FEW_LOW, FEW_HIGH = 0.6, 1.6
SMALL, LOTS = 5, 3


def fitted_to(seen: Sequence[Observation]) -> list[Observation]:
    """Those that constants are fitted to: bursts and static batches are measured on ramps, not in a steady state."""
    return [each for each in seen if "," not in each.group]


def calibrate(seen: Sequence[Observation], as_of: str, *, ranges: bool = False) -> SpeedCalibration:
    """Constants, spreads and the cards seen; with *ranges* also what leaving sources out does to constants and rows,
    and spreads that hold those rows too.
    """
    known = fit(fitted_to(seen))
    others = left_out(seen) if ranges else {}
    groups = sorted({each.group for each in seen})
    return SpeedCalibration(
        as_of=as_of,
        constants={name: _constant(name, value, others, seen) for name, value in known.items()},
        spreads={group: _spread([each for each in seen if each.group == group], known, others) for group in groups},
        seen={group: tuple(sorted({each.card for each in seen if each.group == group})) for group in groups},
        residuals=tuple([_residual(each, known, others[each.source]) for each in seen]) if ranges else (),
    )


def left_out(seen: Sequence[Observation]) -> dict[str, dict[str, float]]:
    """For each source, the constants that the others call for; small sources are left out in lots."""
    counts = Counter(each.source for each in seen)
    small = sorted(source for source, number in counts.items() if number < SMALL)
    lots = [[source] for source in counts if counts[source] >= SMALL] + [small[lot::LOTS] for lot in range(LOTS)]
    found: dict[str, dict[str, float]] = {}
    for lot in lots:
        known = fit([each for each in fitted_to(seen) if each.source not in lot])
        found |= dict.fromkeys(lot, known)
    return found


def _constant(
    name: str, value: float, others: Mapping[str, Mapping[str, float]], seen: Sequence[Observation]
) -> Constant:
    moved = [each for each in fitted_to(seen) if any(name in parts for parts in each.constants.values())]
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


def ratio(seen: Observation, known: Mapping[str, float]) -> float:
    """Measured over predicted time."""
    return seen.seconds / predicted(seen, known_of(seen, known))


def _spread(
    own: Sequence[Observation], known: Mapping[str, float], others: Mapping[str, Mapping[str, float]]
) -> Spread:
    found = [ratio(each, known) for each in own]
    low, high = quantile(found, TAIL), quantile(found, 1 - TAIL)
    if others:
        apart = [ratio(each, others[each.source]) for each in own]
        low, high = min(low, quantile(apart, TENTH)), max(high, quantile(apart, 1 - TENTH))
    if len(found) < FEWEST:
        low, high = min(low, FEW_LOW), max(high, FEW_HIGH)
    return Spread(low_ratio=_rounded(min(low, 0.95)), high_ratio=_rounded(max(high, 1.05)), rows=len(found))


def _residual(each: Observation, known: Mapping[str, float], other: Mapping[str, float]) -> Residual:
    return Residual(
        case=each.case,
        source=each.source,
        group=each.group,
        ratio=_rounded(ratio(each, known)),
        ratio_left_out=_rounded(ratio(each, other)),
    )


def written(found: SpeedCalibration) -> str:
    """*found* as JSON: constants, spreads and residuals one a line."""
    body = msgspec.to_builtins(found)
    residuals = body.pop("residuals")
    lines = []
    for name, value in body.items():
        if isinstance(value, dict):
            rows = ",\n".join(f"  {_json(key)}: {_json(each)}" for key, each in value.items())
            lines.append(f" {_json(name)}: {{\n{rows}\n }},")
        else:
            lines.append(f" {_json(name)}: {_json(value)},")
    rows = ",\n".join(f"  {_json(row)}" for row in residuals)
    return "\n".join(["{", *lines, ' "residuals": [', rows, " ]", "}", ""])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
