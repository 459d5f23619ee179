"""A job tried on a mesh: its peak, and what can be said of it whatever card it runs on."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.answer import Phase, Schedule
from cardmatch.engine.memory.training.calibration import Spread, TrainingCalibration
from cardmatch.engine.memory.training.demand import Demand
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.peak import Curves, Factors, Moment, Peak, curves, peak
from cardmatch.engine.memory.training.schedule import schedule
from cardmatch.engine.models.architecture import Attention, Dense, Experts
from cardmatch.engine.terms.band import Band, Basis

PROCESS = "process"


class Tried(NamedTuple):
    """A job on a mesh: its stages, and of the fullest one the demand, the curves and the peak."""

    job: TrainingJob
    mesh: Mesh
    stages: tuple[Curves, ...]
    fullest: Demand
    curves: Curves
    top: Peak

    @property
    def tokens(self) -> float:
        """Tokens of the micro-batch on one rank."""
        return self.job.micro_batch * self.job.sequence_tokens / self.mesh.context


def attempt(job: TrainingJob, mesh: Mesh, demands: tuple[Demand, ...], known: Factors) -> Tried:
    """The peak of *job* on *mesh*."""
    stages = tuple([curves(each, known) for each in demands])
    tokens = job.micro_batch * job.sequence_tokens / mesh.context
    tops = [peak(on, tokens, job.sequence_tokens) for on in stages]
    fullest = max(range(len(tops)), key=lambda index: tops[index].process)
    # Every stage must run, also one that the allocator can squeeze less than the fullest.
    floor = max(top.floor for top in tops)
    return Tried(job, mesh, stages, demands[fullest], stages[fullest], tops[fullest]._replace(floor=floor))


class Told(NamedTuple):
    """The bands of the three counters, the phases and the schedule of a tried job."""

    allocated: Band
    reserved: Band
    process: Band
    phases: tuple[Phase, ...]
    schedule: Schedule


def told(tried: Tried, calibration: TrainingCalibration) -> Told:
    """What the answer says of *tried* on any card."""
    return Told(
        allocated=band_of(tried, "allocated", calibration),
        reserved=band_of(tried, "reserved", calibration),
        process=band_of(tried, PROCESS, calibration),
        phases=tuple([_phase(moment, tried) for moment in Moment]),
        schedule=schedule(tried.job, tried.mesh),
    )


def band_of(tried: Tried, kind: str, calibration: TrainingCalibration) -> Band:
    """The band of one kind of peak (allocated, reserved, process), whatever card it runs on."""
    spread = _spread(tried, kind, calibration)
    expected: float = getattr(tried.top, kind)
    resident = tried.top.resident
    size = tried.job.spread
    low, high = (1.0, 1.0) if size is None else (size.weights_low, size.weights_high)
    return Band(
        low_bytes=round(low * resident + min(1.0, spread.low_ratio) * (expected - resident)),
        expected_bytes=round(expected),
        high_bytes=round(high * resident + max(1.0, spread.high_ratio) * (expected - resident)),
        basis=_basis(tried.job, tried.mesh),
    )


def _spread(tried: Tried, kind: str, calibration: TrainingCalibration) -> Spread:
    """What is reserved is less certain where lengths vary, and where streams of several GPUs delay frees."""
    if kind == "allocated":
        return calibration.allocated
    if tried.fullest.grows:
        return calibration.varying
    if kind == PROCESS and tried.fullest.several:
        return calibration.process_of_several
    return calibration.process if kind == PROCESS else calibration.reserved


def _basis(job: TrainingJob, mesh: Mesh) -> Basis:
    """Model-parallel layouts and blocks other than attention and feed-forward were hardly measured."""
    usual = all(
        isinstance(block, Attention | Dense | Experts)
        for group in job.architecture.layer_groups
        for block in group.blocks
    )
    plain = mesh.tensor == mesh.pipeline == mesh.expert == mesh.context == 1
    if job.spread is not None:
        return Basis.RULE_OF_THUMB
    return Basis.CALIBRATED if usual and plain else Basis.EXTRAPOLATED


def _phase(moment: Moment, tried: Tried) -> Phase:
    """One moment's bytes by what they are for, rounded so that they add up."""
    states, gathered, top = tried.fullest.states, tried.fullest.gathers, tried.top
    waiting = states.held_gradients + gathered.accumulated
    if moment is Moment.STEP:
        gradients = max(states.gradients, gathered.accumulated)
        parts = (states.weights, gradients, states.optimizer, 0.0, 0.0, top.step - gradients)
    else:
        recomputing = moment is Moment.RECOMPUTE
        parts = (
            states.weights + gathered.passes,
            waiting,
            states.optimizer,
            top.kept + (top.live if recomputing else 0.0),
            0.0 if recomputing else top.logits,
            gathered.backward if recomputing else 0.0,
        )
    weights, gradients_, optimizer, activations, logits, temporaries = (round(part) for part in parts)
    return Phase(
        phase=moment,
        weights_bytes=weights,
        gradients_bytes=gradients_,
        optimizer_bytes=optimizer,
        activations_bytes=activations,
        logits_bytes=logits,
        temporaries_bytes=temporaries,
        allocated_bytes=weights + gradients_ + optimizer + activations + logits + temporaries,
    )
