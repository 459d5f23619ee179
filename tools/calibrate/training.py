"""Fits the constants of training memory from measured peaks and writes them with their residuals.

python -m tools.calibrate.training CASES_DIR [OUTPUT]
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cardmatch.catalogue.bundled_models import bundled_models
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.training.calibration import Fit, Residual, Spread, TrainingCalibration
from cardmatch.engine.memory.training.demand import Demand, demands
from cardmatch.engine.memory.training.frameworks import CrossEntropy
from cardmatch.engine.memory.training.mesh import mesh
from cardmatch.engine.memory.training.peak import Factors, Peak, curves, peak
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.model import read_model
from cardmatch.engine.terms.units import GIB, MIB
from tools.calibrate.robust import Term, minimise, quantile
from tools.calibrate.training_rows import run, skipped

OUTPUT = Path("service/cardmatch/catalogue/data/calibration/training.json")
FAMILY = "training_memory.jsonl"

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
Resolve = Callable[[dict[str, Any]], tuple[Architecture, Checkpoint]]


class Observation(NamedTuple):
    """A measured peak with the demands that predict it."""

    case: str
    source: str
    kind: str
    measured_bytes: float
    demands: tuple[Demand, ...]
    tokens: float
    sequence_tokens: int


def source_of(row: dict[str, Any]) -> str:
    """Where a row comes from: its repository, so that rows of one author are left out together."""
    match = re.match(r"https?://(github\.com/[^/]+/[^/]+|[^/]+)", row["source"])
    return match[1] if match else row["source"]


def observations(rows: Iterable[dict[str, Any]], resolve: Resolve) -> list[Observation]:
    """Every peak that *rows* state: the measured one and, where the note gives it, nvidia-smi's beside it."""
    found = []
    for row in rows:
        if row["exclude"] is not None or skipped(row):
            continue
        for kind, size in _peaks(row):
            found.append(_observation(row, kind, size, resolve))
    return found


def _peaks(row: dict[str, Any]) -> Iterable[tuple[str, float]]:
    measured = row["measured"]
    if measured["peak_gib_per_gpu"] is not None:
        yield measured["peak_kind"], measured["peak_gib_per_gpu"] * GIB
    stated = re.search(r"nvidia-smi ([\d.]+) MiB; rank", row["note"] or "")
    if stated:
        yield "process", float(stated[1]) * MIB


def _observation(row: dict[str, Any], kind: str, size: float, resolve: Resolve) -> Observation:
    architecture, checkpoint = resolve(row["model"])
    asked = run(row)
    job, _ = settle(asked.workload, architecture, checkpoint)
    spread = mesh(asked.workload, job.default_sharding, Placement(device=_ANY, count=asked.gpus, layout=asked.layout))
    tokens = job.micro_batch * job.sequence_tokens / spread.context
    return Observation(row["id"], source_of(row), kind, size, demands(job, spread), tokens, job.sequence_tokens)


_ANY = Device(card=None, physical_bytes=0, memory_bytes=0, memory_low_bytes=0, memory_high_bytes=0)


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
        "varying_growth": slack and demand.varying,
        "context_bytes": outside,
        "rank_bytes": outside and demand.several,
    }
    return frozenset(index for index, name in enumerate(Factors._fields) if moves[name])


def left_out(seen: Sequence[Observation]) -> dict[str, Factors]:
    """For each source, the constants that the others call for, found from the priors: nothing leaks from the source."""
    sources = sorted({each.source for each in seen})
    return {source: fit([each for each in seen if each.source != source]) for source in sources}


def calibrate(seen: Sequence[Observation], as_of: str, digest: str) -> TrainingCalibration:
    """The constants with their ranges, spreads and residuals."""
    known = fit(seen)
    others = left_out(seen)
    ratios = {id(each): each.measured_bytes / predicted(each, others[each.source]) for each in seen}
    fits: dict[str, Any] = {name: _fit_of(name, known, others, seen) for name in Factors._fields}
    even = [each for each in seen if not each.demands[0].varying or each.kind == "allocated"]
    spreads: dict[str, Any] = {kind: _spread(even, others, kind) for kind in ("allocated", "reserved", "process")}
    spreads["varying"] = _spread([each for each in seen if each.demands[0].varying], others, "reserved")
    return TrainingCalibration(
        as_of=as_of,
        cases_sha256=digest,
        residuals=tuple(
            Residual(
                case=each.case,
                source=each.source,
                kind=each.kind,
                ratio=round(each.measured_bytes / predicted(each, known), 4),
                ratio_left_out=round(ratios[id(each)], 4),
            )
            for each in seen
        ),
        **fits,
        **spreads,
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
    return Spread(
        low_ratio=round(quantile(found, LOW), 4), high_ratio=round(quantile(found, HIGH), 4), cases=len(found)
    )


def read_rows(folder: Path) -> tuple[list[dict[str, Any]], str]:
    """The rows of the family in *folder*, and the SHA-256 of their file."""
    raw = (folder / FAMILY).read_bytes()
    return [msgspec.json.decode(line) for line in raw.splitlines() if line.strip()], hashlib.sha256(raw).hexdigest()


def written(found: TrainingCalibration) -> bytes:
    """*found* as JSON: constants one a line, residuals one a line."""
    body = msgspec.to_builtins(found)
    residuals = body.pop("residuals")
    lines = [f" {_json(name)}: {_json(value)}," for name, value in body.items()]
    rows = ",\n".join(f"  {_json(row)}" for row in residuals)
    return "\n".join(["{", *lines, ' "residuals": [', rows, " ]", "}", ""]).encode()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def resolver() -> Resolve:
    """Looks models up in the bundled catalogue, or reads the keys of their configuration."""
    bundled = bundled_models()

    def resolve(model: dict[str, Any]) -> tuple[Architecture, Checkpoint]:
        if model["ref"]:
            row = bundled.models[model["ref"]]
            return row.architecture, row.checkpoint
        found = read_model(model["config"], bundled.dialects)
        return found.architecture, found.checkpoint

    return resolve


def main(arguments: Sequence[str]) -> int:
    """Fit the cases of a folder and write the constants."""
    folder = Path(arguments[0])
    output = Path(arguments[1]) if len(arguments) > 1 else OUTPUT
    rows, digest = read_rows(folder)
    found = calibrate(observations(rows, resolver()), dt.datetime.now(tz=dt.UTC).date().isoformat(), digest)
    output.write_bytes(written(found))
    for name in Factors._fields:
        print(f"{name:22s} {getattr(found, name)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
