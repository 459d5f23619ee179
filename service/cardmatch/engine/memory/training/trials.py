"""Jobs and attempts that several placements and ways of one request share, each computed once."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.demand import demands
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.peak import Factors
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.memory.training.tried import Told, Tried, attempt, told
from cardmatch.engine.memory.training.workload import Training


class Trials(NamedTuple):
    """A job, the constants, and what was computed so far within one request."""

    job: TrainingJob
    known: Factors
    calibration: TrainingCalibration
    jobs: dict[Training, TrainingJob]
    tried: dict[tuple[Training, Mesh], Tried]
    told: dict[tuple[Training, Mesh], Told]


def trials(job: TrainingJob, known: Factors, calibration: TrainingCalibration) -> Trials:
    """Nothing tried yet."""
    return Trials(job, known, calibration, {job.workload: job}, {}, {})


def attempted(shared: Trials, job: TrainingJob, on: Mesh) -> Tried:
    """The attempt of *job* on a mesh."""
    key = (job.workload, on)
    found = shared.tried.get(key)
    if found is None:
        found = shared.tried[key] = attempt(job, on, demands(job, on), shared.known)
    return found


def described(shared: Trials, tried: Tried) -> Told:
    """What is told of *tried* on any card."""
    key = (tried.job.workload, tried.mesh)
    found = shared.told.get(key)
    if found is None:
        found = shared.told[key] = told(tried, shared.calibration)
    return found


def changed(shared: Trials, fields: dict[str, Any]) -> TrainingJob:
    """The job with *fields* of its workload changed."""
    job = shared.job
    workload = msgspec.structs.replace(job.workload, **fields)
    found = shared.jobs.get(workload)
    if found is None:
        found = settle(workload, job.architecture, job.published, job.spread)[0]
        shared.jobs[workload] = found
    return found
