"""Transformers against the Qwen3 team's table: totals, and slopes between pairs of one model and format."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import arranged, reserve
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.engines.transformers.reserves import TransformersReserves
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.terms.units import MIB
from tests.truth.cases import Case, Skipped
from tests.truth.families.serving_marks import verdict_marks
from tests.truth.frame import Figure, Judged, LeaveOut, Mark, Scored
from tests.truth.statistics import median
from tests.truth.world import TruthWorld
from tools.calibrate.serving import fit_transformers

TOTAL, SLOPE = "total", "slope"
_TOTAL_MEDIAN, _SLOPE_MEDIAN = 0.05, 0.015
_FEWEST = 15


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A row as a request, and the row of the same model and format that its slope is taken to."""

    case: Case
    job: ServingJob
    engine: Transformers
    placement: Placement
    known_device: bool


class TransformersFamily:
    """Rows of transformers_memory; all have one source, so one model is left out at a time."""

    name = "transformers_memory"
    leave_out = LeaveOut.MODEL

    def prepare(self, case: Case, world: TruthWorld) -> Prepared:
        """The row as a request. Raises Skipped."""
        setup = case.setup
        model = world.model(case.model)
        if case.measured["gpu_memory_mib"] is None:
            raise Skipped("no figure stated")
        engine = Transformers(prompt_tokens=setup["prompt_tokens"])
        workload = Inference(
            engine=engine,
            context_tokens=setup["prompt_tokens"] + setup["output_tokens"],
            concurrency=setup["batch"],
            weights=case.model.checkpoint or "as_published",
        )
        job, _ = settle(workload, model.architecture, model.checkpoint)
        device = world.device(setup["card"], None)
        if device is None:
            raise Skipped("card not known")
        placement = arranged(engine, Placement(device=device, count=setup["count"]))
        return Prepared(case=case, job=job, engine=engine, placement=placement, known_device=True)

    def fit(self, prepared: Sequence[Prepared], world: TruthWorld) -> MemoryCalibration:
        """What a process holds beside weights and cache."""
        return fit_transformers(prepared, world.catalogue.calibration.serving)

    def score(self, prepared: Prepared, fitted: MemoryCalibration) -> Scored:
        """The memory that is held when generation ends."""
        reserved = reserve(prepared.job, prepared.engine, prepared.placement, fitted)
        assert isinstance(reserved.reserves, TransformersReserves)
        spread = reserved.overhead.high_bytes - reserved.overhead.expected_bytes
        held = reserved.reserves.held_bytes
        total = Figure(
            group=TOTAL,
            predicted=held / MIB,
            measured=prepared.case.measured["gpu_memory_mib"],
            low=(held - spread) / MIB,
            high=(held + spread) / MIB,
        )
        verdict = place(prepared.job, prepared.placement, reserved).verdict.value
        return Scored(
            case=prepared.case, figures=(total,), judged=Judged(verdict=verdict, outcome=prepared.case.outcome)
        )

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """Totals and slopes by their median; verdicts."""
        totals = [abs(figure.error) for row in scored for figure in row.figures]
        slopes = [abs(error) for error in slope_errors(scored)]
        return (
            _median_mark("total", totals, _TOTAL_MEDIAN),
            _median_mark("slope", slopes, _SLOPE_MEDIAN),
            *verdict_marks(scored),
        )


def slope_errors(scored: Sequence[Scored]) -> list[float]:
    """Relative errors of MiB per token between the shortest row of a model and format and each longer one."""
    groups: dict[tuple[str | None, str | None], list[Scored]] = {}
    for row in scored:
        groups.setdefault((row.case.model.ref, row.case.model.checkpoint), []).append(row)
    errors = []
    for rows in groups.values():
        ordered = sorted(rows, key=_tokens)
        first = ordered[0]
        for row in ordered[1:]:
            predicted = row.figures[0].predicted - first.figures[0].predicted
            measured = row.figures[0].measured - first.figures[0].measured
            if _tokens(row) > _tokens(first) and measured > 0:
                errors.append(predicted / measured - 1)
    return errors


def _tokens(row: Scored) -> int:
    setup = row.case.setup
    return int(setup["batch"] * (setup["prompt_tokens"] + setup["output_tokens"]))


def _median_mark(name: str, errors: list[float], wanted: float) -> Mark:
    middle = median(errors)
    return Mark(
        name=name,
        figure=f"median {middle:.2%} of {len(errors)}",
        wanted=f"≤ {wanted:.1%}",
        met=middle <= wanted if len(errors) >= _FEWEST else None,
    )
