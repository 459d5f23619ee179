"""Fits the constants of diffusion memory from measured peaks; `tests/truth` turns cases into observations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration, Factors
from cardmatch.engine.memory.diffusion.curves import Curve
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.peak import curves, peak
from cardmatch.engine.memory.diffusion.phases import encoding
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.memory.training.calibration import Fit, Residual, Spread
from cardmatch.engine.models.diffusion.component import Autoencoder
from cardmatch.engine.terms.units import MIB
from tools.calibrate.robust import Term, minimise, quantile

PRIORS = Factors(
    transformer_copies=17,  # 34 bytes a value in 16 bits, arXiv 2205.05198: queries to output and the feed-forward
    unet_copies=20,  # what is put aside on the way down, and a residual block of the widest level
    decode_copies=4,  # input, norm, activation and output of a residual block of the last level
    video_decode_copies=8,  # the same, padded in time and space
    encode_copies=8,  # twice as many maps of half the width
    workspace_bytes=512 * MIB,  # cuDNN's 16-bit convolutions over maps of a megapixel
    unreused_share=1.0,
    context_bytes=450 * MIB,  # CUDA 11.7 and later load kernels lazily: 300 to 400 MB, and cuBLAS's workspace
)
LOW, HIGH = 0.05, 0.95
"""Nine cases in ten of sources that the fit has not seen: few sources, each with its own way of measuring."""
FEWEST, UNMEASURED = 10, 1.35
"""With fewer cases than a tenth percentile takes, a band reaches 35 % up and as far down."""


class Observation(NamedTuple):
    """A measured peak with the job that it is of. *encoding* rows time the autoencoder alone."""

    case: str
    source: str
    kind: str
    measured_bytes: float
    job: DiffusionJob
    encoding: bool


def found_curves(seen: Observation, known: Factors) -> tuple[Curve, ...]:
    """The phases that the case went through."""
    if not seen.encoding:
        return curves(seen.job, known)
    part = next(each for each in seen.job.parts if isinstance(each.component, Autoencoder))
    on = part.component
    assert isinstance(on, Autoencoder)  # noqa: S101 - as chosen above
    return (encoding(on, part.compute, known),)


def predicted(seen: Observation, known: Factors) -> float:
    """The predicted bytes of the kind that was measured."""
    top = peak(found_curves(seen, known), seen.job.size, known)
    return float(getattr(top, seen.kind))


def moved_by(seen: Observation) -> frozenset[int]:
    """Which constants, by position, can change what is predicted of *seen*: those that move it when doubled."""
    here = predicted(seen, PRIORS)
    moved = []
    for index, value in enumerate(PRIORS):
        changed = [predicted(seen, PRIORS._replace(**{PRIORS._fields[index]: value * by})) for by in (0.33, 3.0)]
        if any(abs(each - here) > 1 for each in changed):
            moved.append(index)
    return frozenset(moved)


def fit(seen: Sequence[Observation]) -> Factors:
    """The constants that *seen* call for; each source weighs like the square root of its cases."""
    counts = Counter(each.source for each in seen)
    return Factors(*minimise([_term(each, 1 / math.sqrt(counts[each.source])) for each in seen], PRIORS))


def _term(seen: Observation, weight: float) -> Term:
    def loss(values: Sequence[float]) -> float:
        return weight * abs(math.log(predicted(seen, Factors(*values)) / seen.measured_bytes))

    return Term(loss, moved_by(seen))


def left_out(seen: Sequence[Observation]) -> dict[str, Factors]:
    """For each source, the constants that the others call for."""
    sources = sorted({each.source for each in seen})
    return {source: fit([each for each in seen if each.source != source]) for source in sources}


def calibrate(seen: Sequence[Observation], as_of: str) -> DiffusionCalibration:
    """The constants with their ranges, spreads and residuals."""
    known, others = fit(seen), left_out(seen)
    fits: dict[str, Any] = {name: _fit_of(name, known, others, seen) for name in Factors._fields}
    made = [each for each in seen if each.job.inference]
    resident = [each for each in made if each.job.offload is ComponentOffload.NONE]
    return DiffusionCalibration(
        as_of=as_of,
        residuals=tuple([_residual(each, known, others[each.source]) for each in seen]),
        allocated=_spread([each for each in resident if each.kind == "allocated"], known, others),
        reserved=_spread([each for each in resident if each.kind == "reserved"], known, others),
        offloaded=_spread([each for each in made if each not in resident], known, others),
        trained=_spread([each for each in seen if each not in made], known, others),
        **fits,
    )


def _residual(each: Observation, known: Factors, other: Factors) -> Residual:
    return Residual(
        case=each.case,
        source=each.source,
        kind=each.kind,
        ratio=round(each.measured_bytes / predicted(each, known), 4),
        ratio_left_out=round(each.measured_bytes / predicted(each, other), 4),
    )


def _fit_of(name: str, known: Factors, others: dict[str, Factors], seen: Sequence[Observation]) -> Fit:
    index = Factors._fields.index(name)
    touched = [each for each in seen if index in moved_by(each)]
    range_ = [getattr(each, name) for each in others.values()] or [getattr(known, name)]
    return Fit(
        value=round(getattr(known, name), 4),
        low=round(min(range_), 4),
        high=round(max(range_), 4),
        cases=len(touched),
        sources=len({each.source for each in touched}),
    )


def _spread(seen: Sequence[Observation], known: Factors, others: dict[str, Factors]) -> Spread:
    """Quantiles of measured over predicted of cases whose source the fit had not seen; encoding rows left out.

    A constant that one source alone tells moves when that source is left out, and with it all its cases to one side:
    the spread holds what the whole fit leaves of them, too.
    """
    cases = [each for each in seen if not each.encoding]
    if len(cases) < FEWEST:
        return Spread(low_ratio=1 / UNMEASURED, high_ratio=UNMEASURED, cases=len(cases))
    unseen = [each.measured_bytes / predicted(each, others[each.source]) for each in cases]
    left = [each.measured_bytes / predicted(each, known) for each in cases]
    return Spread(
        low_ratio=round(min(quantile(unseen, LOW), quantile(left, LOW)), 4),
        high_ratio=round(max(quantile(unseen, HIGH), quantile(left, HIGH)), 4),
        cases=len(cases),
    )
