"""Fits the constants of training memory from measured peaks; `tests/truth` turns cases into observations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.memory.training.calibration import Fit, Residual, Spread, TrainingCalibration
from cardmatch.engine.memory.training.demand import Demand
from cardmatch.engine.memory.training.frameworks import CrossEntropy
from cardmatch.engine.memory.training.peak import Factors, Peak, curves, peak
from cardmatch.engine.terms.units import GIB, MIB
from tools.calibrate.robust import Term, minimise, quantile

PRIORS = Factors(
    eager_logit_bytes=14,  # logits 2, log-softmax 4, its gradient 4, the loss's 4
    kernel_logit_bytes=8,  # 16-bit logits 2, fp32 4, their gradient in place 2
    live_factor=1.2,
    sharded_live_factor=1.5,
    eager_factor=1.05,
    unreused_share=0.7,
    step_unreused_share=0.15,
    varying_growth=2.0,
    context_bytes=1343 * MIB,  # transformers' performance guide: nvidia-smi on a V100 before a model is loaded
    rank_bytes=0.6 * GIB,  # NCCL: 544 MB a communicator of two ranks on A100
)
LOW, HIGH = 0.09, 0.91
"""Quantiles of a band: four in five cases of a source that the fit has not seen, with a little to spare."""
FEWEST, UNMEASURED = 10, 2.0
"""A tenth percentile takes ten cases; with fewer a band is from half to twice of what comes on top of the states."""


class Observation(NamedTuple):
    """A measured peak with the demands that predict it."""

    case: str
    source: str
    kind: str
    measured_bytes: float
    demands: tuple[Demand, ...]
    tokens: float
    sequence_tokens: int


def predicted(seen: Observation, known: Factors) -> float:
    """The predicted bytes of the kind that was measured; an unknown kind counts as reserved."""
    top = _top(seen, known)
    return top.reserved if seen.kind == "unknown" else float(getattr(top, seen.kind))


def _top(seen: Observation, known: Factors) -> Peak:
    tops = (peak(curves(each, known), seen.tokens, seen.sequence_tokens) for each in seen.demands)
    return max(tops, key=lambda each: each.process)


def fit(seen: Sequence[Observation]) -> Factors:
    """The constants that *seen* call for; each source weighs like the square root of its cases."""
    counts = Counter(each.source for each in seen)
    terms = [_term(each, 1 / math.sqrt(counts[each.source])) for each in seen]
    return Factors(*minimise(terms, PRIORS))


def _term(seen: Observation, weight: float) -> Term:
    def loss(values: Sequence[float]) -> float:
        return weight * abs(math.log(predicted(seen, Factors(*values)) / seen.measured_bytes))

    return Term(loss, moved_by(seen))


def moved_by(seen: Observation) -> frozenset[int]:
    """Which constants, by position, can change what is predicted of *seen*."""
    demand = seen.demands[-1]
    outside, slack = seen.kind == "process", seen.kind != "allocated"
    moves = {
        "eager_logit_bytes": any(each.logits_per_token for each in seen.demands),
        "kernel_logit_bytes": demand.cross_entropy is CrossEntropy.KERNEL,
        "live_factor": True,
        "sharded_live_factor": demand.sharded,
        "eager_factor": demand.eager and not demand.recomputes,
        "unreused_share": slack,
        "step_unreused_share": slack,
        "varying_growth": slack and demand.grows,
        "context_bytes": outside,
        "rank_bytes": outside and demand.several,
    }
    return frozenset(index for index, name in enumerate(Factors._fields) if moves[name])


def left_out(seen: Sequence[Observation], folds: int | None = None) -> dict[str, Factors]:
    """For each source, the constants that others call for, found from the priors: nothing leaks from the source.

    With *folds* sources are left out in that many lots, which is faster than one by one.
    """
    sources = sorted({each.source for each in seen})
    lots = [sources[start :: folds or len(sources)] for start in range(min(folds or len(sources), len(sources)))]
    found: dict[str, Factors] = {}
    for lot in lots:
        known = fit([each for each in seen if each.source not in lot])
        found |= dict.fromkeys(lot, known)
    return found


def calibrate(seen: Sequence[Observation], as_of: str, folds: int | None = None) -> TrainingCalibration:
    """The constants with their ranges, spreads and residuals."""
    known, others = fit(seen), left_out(seen, folds)
    fits: dict[str, Any] = {name: _fit_of(name, known, others, seen) for name in Factors._fields}
    varying = [each for each in seen if each.demands[-1].grows]
    even = [each for each in seen if not each.demands[-1].grows]
    alone = [each for each in even if not each.demands[0].several]
    several = [each for each in even if each.demands[0].several]
    spreads = {
        "allocated": _spread(seen, others, "allocated"),
        "reserved": _spread(even, others, "reserved"),
        "process": _spread(alone, others, "process"),
        "process_of_several": _spread(several, others, "process"),
        "varying": _spread(varying, others, "reserved"),
    }
    residuals = tuple([_residual(each, known, others[each.source]) for each in seen])
    return TrainingCalibration(as_of=as_of, residuals=residuals, **fits, **spreads)  # type: ignore[arg-type]


def _residual(each: Observation, known: Factors, other: Factors) -> Residual:
    return Residual(
        case=each.case,
        source=each.source,
        kind=each.kind,
        ratio=round(each.measured_bytes / predicted(each, known), 4),
        ratio_left_out=round(each.measured_bytes / predicted(each, other), 4),
    )


def _fit_of(name: str, known: Factors, others: dict[str, Factors], seen: Sequence[Observation]) -> Fit:
    """A constant, its range over the fits, and the cases that can move it."""
    index = Factors._fields.index(name)
    touched = [each for each in seen if index in moved_by(each)]
    range_ = [getattr(each, name) for each in others.values()]
    return Fit(
        value=round(getattr(known, name), 4),
        low=round(min(range_), 4),
        high=round(max(range_), 4),
        cases=len(touched),
        sources=len({each.source for each in touched}),
    )


def _spread(seen: Sequence[Observation], others: dict[str, Factors], kind: str) -> Spread:
    found = []
    for each in seen:
        if each.kind == kind:
            known = others[each.source]
            resident = _top(each, known).resident
            found.append((each.measured_bytes - resident) / (predicted(each, known) - resident))
    if len(found) < FEWEST:
        return Spread(low_ratio=1 / UNMEASURED, high_ratio=UNMEASURED, cases=len(found))
    return Spread(
        low_ratio=round(quantile(found, LOW), 4), high_ratio=round(quantile(found, HIGH), 4), cases=len(found)
    )


def written(found: msgspec.Struct) -> str:
    """*found* as JSON: constants one a line, residuals one a line."""
    body = msgspec.to_builtins(found)
    residuals = body.pop("residuals")
    lines = [f" {_json(name)}: {_json(value)}," for name, value in body.items()]
    rows = ",\n".join(f"  {_json(row)}" for row in residuals)
    return "\n".join(["{", *lines, ' "residuals": [', rows, " ]", "}", ""])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
