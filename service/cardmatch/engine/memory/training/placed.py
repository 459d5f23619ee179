"""From the peak on one rank to the verdict on one placement."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.answer import Host
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import Peaks, Phase, TrainingPerGpu, TrainingPlacement
from cardmatch.engine.memory.training.calibration import Spread, TrainingCalibration
from cardmatch.engine.memory.training.demand import Demand
from cardmatch.engine.memory.training.inverse import largest_micro_batch, longest_sequence
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.peak import Curves, Factors, Moment, Peak, curves, peak
from cardmatch.engine.memory.training.schedule import schedule
from cardmatch.engine.memory.verdict import Load, Verdict, judge
from cardmatch.engine.models.architecture import Attention, Dense, Experts
from cardmatch.engine.terms.band import Band, Basis
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity

POOL = "process"


class Tried(NamedTuple):
    """A job on a mesh: its stages, the demand of the fullest one and that stage's peak."""

    job: TrainingJob
    mesh: Mesh
    stages: tuple[Curves, ...]
    fullest: Demand
    top: Peak


def attempt(job: TrainingJob, mesh: Mesh, demands: tuple[Demand, ...], known: Factors) -> Tried:
    """The peak of *job* on *mesh*."""
    stages = tuple([curves(each, known) for each in demands])
    tokens = job.micro_batch * job.sequence_tokens / mesh.context
    tops = [peak(on, tokens, job.sequence_tokens) for on in stages]
    fullest = max(range(len(tops)), key=lambda index: tops[index].process)
    return Tried(job, mesh, stages, demands[fullest], tops[fullest])


class Judged(NamedTuple):
    """A verdict with the expected process memory after the allocator has given back what it must."""

    verdict: Verdict
    budget: int
    expected: int
    high: int
    squeezed: bool
    host: int


def verdict(tried: Tried, placement: Placement, calibration: TrainingCalibration) -> Judged:
    """The verdict on *placement*: the process against what CUDA sees, less what is occupied.

    Where the least that the job can do with fits and only the allocator's slack does not, PyTorch frees cached blocks:
    the job runs, tightly. Offloaded jobs are tight at best, and do not fit where host memory is known and too small.
    """
    budget = max(0, placement.device.memory_bytes - placement.occupied_bytes)
    top = tried.top
    squeezed = top.floor <= budget < top.process
    expected = budget if squeezed else round(top.process)
    high = max(expected, band_of(tried, POOL, calibration).high_bytes)
    if squeezed:
        high = max(high, budget + 1)
    found = judge(
        Load(
            pool=POOL,
            budget_bytes=budget,
            one_expected_bytes=expected,
            one_high_bytes=high,
            all_expected_bytes=expected,
            all_high_bytes=high,
        )
    )
    host = round(tried.fullest.states.host) * placement.count
    if tried.job.offload and found is not Verdict.DOES_NOT_FIT:
        found = Verdict.TIGHT
        if placement.host_ram_bytes is not None and host > placement.host_ram_bytes:
            found = Verdict.DOES_NOT_FIT
    return Judged(found, budget, expected, high, squeezed, host)


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


def placed(tried: Tried, placement: Placement, calibration: TrainingCalibration) -> TrainingPlacement:
    """Everything that the answer says about *placement*, ways to fit left out."""
    judged = verdict(tried, placement, calibration)
    job, mesh, top = tried.job, tried.mesh, tried.top
    process = band_of(tried, POOL, calibration)
    total = Band(
        low_bytes=min(judged.expected, process.low_bytes),
        expected_bytes=judged.expected,
        high_bytes=judged.high,
        basis=process.basis,
    )
    phases = tuple(_phase(moment, tried) for moment in Moment)
    limit = max(job.sequence_tokens, job.architecture.maximum_context_tokens or job.sequence_tokens)
    return TrainingPlacement(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        sharding=mesh.sharding,
        verdict=judged.verdict,
        bound_by=top.moment,
        per_gpu=_per_gpu(next(each for each in phases if each.phase is top.moment), total),
        peaks=Peaks(
            allocated=band_of(tried, "allocated", calibration),
            reserved=band_of(tried, "reserved", calibration),
            process=total,
        ),
        phases=phases,
        budget_bytes=judged.budget,
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=judged.budget - judged.expected,
        host=Host(ram_bytes=judged.host),
        max_micro_batch=largest_micro_batch(tried.stages, judged.budget, job.sequence_tokens, mesh.context),
        max_sequence_tokens=longest_sequence(tried.stages, judged.budget, job.micro_batch, limit, mesh.context),
        schedule=schedule(job, mesh),
        notices=_notices(judged),
    )


def _spread(tried: Tried, kind: str, calibration: TrainingCalibration) -> Spread:
    """What is reserved is less certain where lengths vary, and where streams of several GPUs delay frees."""
    if kind == "allocated":
        return calibration.allocated
    if tried.fullest.grows:
        return calibration.varying
    if kind == POOL and tried.fullest.several:
        return calibration.process_of_several
    return calibration.process if kind == POOL else calibration.reserved


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


def _per_gpu(at: Phase, total: Band) -> TrainingPerGpu:
    activations = at.activations_bytes + at.logits_bytes + at.temporaries_bytes
    parts = at.weights_bytes + at.gradients_bytes + at.optimizer_bytes + activations
    return TrainingPerGpu(
        weights_bytes=at.weights_bytes,
        gradients_bytes=at.gradients_bytes,
        # A squeezed job has paged part of its optimizer states out; the rest is what fits.
        optimizer_bytes=at.optimizer_bytes - max(0, parts - total.expected_bytes),
        activations_bytes=activations,
        overhead_bytes=max(0, total.expected_bytes - parts),
        total=total,
    )


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


def _notices(judged: Judged) -> tuple[Notice, ...]:
    found = []
    if judged.squeezed:
        found.append(
            Notice(
                code=NoticeCode.ALLOCATOR_SQUEEZED,
                severity=Severity.CAUTION,
                params={"budget_bytes": judged.budget},
            )
        )
    if judged.host:
        found.append(
            Notice(code=NoticeCode.TRAINING_OFFLOAD, severity=Severity.CAUTION, params={"offloaded_bytes": judged.host})
        )
    return tuple(found)
