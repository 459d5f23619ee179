"""What a request's command line and log say about how the engine was started, brought into the workload."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.answer import Change, PlacementEstimate, WayToFit
from cardmatch.engine.memory.arguments.read import laid_out, read_arguments
from cardmatch.engine.memory.asked import check_asked
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.engines.registry import arranged, reserve
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.logs.apply import as_logged, placed_as_logged
from cardmatch.engine.memory.logs.compare import LogReading, compare, own_fixes
from cardmatch.engine.memory.logs.logged import Logged
from cardmatch.engine.memory.logs.read import read_log
from cardmatch.engine.memory.placed import place
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.terms.notice import Assumption, Notice


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The workload and placements that a command line and a log describe, and the log's figures."""

    workload: Inference
    placements: tuple[Placement, ...]
    logged: Logged | None
    notices: tuple[Notice, ...]
    assumptions: tuple[Assumption, ...]


def told(
    workload: Inference, placements: tuple[Placement, ...], architecture: Architecture, checkpoint: Checkpoint
) -> Told:
    """Read what *workload* has of a command line and a log. Raises Invalid with pointers into /workload and /cards."""
    asked = check_asked(workload)
    read = read_arguments(workload, architecture, checkpoint)
    placements = tuple(laid_out(placement, read.layout, index) for index, placement in enumerate(placements))
    if workload.engine_log is None:
        return Told(
            workload=read.workload,
            placements=placements,
            logged=None,
            notices=asked + read.notices,
            assumptions=read.assumptions,
        )
    logged = read_log(workload.engine_log, str(workload.engine.__struct_config__.tag))
    return Told(
        workload=as_logged(read.workload, logged, architecture, checkpoint),
        placements=tuple(placed_as_logged(placement, logged, index) for index, placement in enumerate(placements)),
        logged=logged,
        notices=asked + read.notices,
        assumptions=read.assumptions,
    )


def log_reading(
    started: Told, job: ServingJob, estimates: tuple[PlacementEstimate, ...], calibration: MemoryCalibration
) -> LogReading | None:
    """The log beside what was predicted for the first placement; null without a log."""
    if started.logged is None or not estimates:
        return None
    changes = own_fixes(started.logged.error, started.workload.engine)
    fixes = tuple(_tried(change, started, job, calibration) for change in changes)
    return compare(started.logged, estimates[0], fixes)


def _tried(change: Change, started: Told, job: ServingJob, calibration: MemoryCalibration) -> WayToFit:
    """What becomes of the job with *change*, which the engine itself says is enough: no worse than tight."""
    engine = msgspec.structs.replace(started.workload.engine, **{change.pointer.rpartition("/")[2]: change.value})
    where = arranged(engine, started.placements[0])
    placed = place(job, where, reserve(job, engine, where, calibration))
    verdict = Verdict.TIGHT if placed.verdict is Verdict.DOES_NOT_FIT else placed.verdict
    return WayToFit(changes=(change,), verdict=verdict, headroom_bytes=max(0, placed.headroom_bytes))
