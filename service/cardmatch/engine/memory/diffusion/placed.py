"""From the peak of a job to the verdict on one placement, and everything that the answer says of it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.answer import Host
from cardmatch.engine.memory.arithmetic import unsuited
from cardmatch.engine.memory.diffusion.answer import DiffusionPerGpu, DiffusionPhase, DiffusionPlacement, Makeable
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration, Factors
from cardmatch.engine.memory.diffusion.curves import Curve, PhaseName, activations
from cardmatch.engine.memory.diffusion.inverse import STEP_PIXELS, largest_batch, largest_size, most_frames
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.peak import Top, curves, peak
from cardmatch.engine.memory.diffusion.sides import multiple, whole_frames
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.memory.host_ram import lacks_host_ram, short_of_host_ram
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import Peaks
from cardmatch.engine.memory.training.calibration import Spread
from cardmatch.engine.memory.verdict import Load, Verdict, at_best, judge
from cardmatch.engine.models.diffusion.component import Medium
from cardmatch.engine.terms.band import Band, Basis, weakest
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

PROCESS = "process"


class Tried(NamedTuple):
    """A job with its phases, as curves and as they are told, its peak and the bands of the three counters."""

    job: DiffusionJob
    curves: tuple[Curve, ...]
    top: Top
    allocated: Band
    reserved: Band
    process: Band
    context: float
    told: tuple[DiffusionPhase, ...]


def attempt(job: DiffusionJob, known: Factors, calibration: DiffusionCalibration) -> Tried:
    """The peak of *job*, whatever card it runs on; with offload it is never more than with everything on the GPU."""
    found = curves(job, known)
    top = peak(found, job.size, known)
    basis = weakest(job.basis, Basis.CALIBRATED if job.inference else Basis.EXTRAPOLATED)
    held = spread_of(job, "reserved", calibration)
    allocated = band(top.allocated, spread_of(job, "allocated", calibration), basis)
    reserved = _at_least(band(top.reserved, held, basis), allocated, 0)
    process = _at_least(band(top.process, held, basis), reserved, round(known.context_bytes))
    if job.offload is not ComponentOffload.NONE:
        whole = attempt(on_gpu(job), known, calibration)
        allocated, reserved = _at_most(allocated, whole.allocated), _at_most(reserved, whole.reserved)
        process = _at_most(process, whole.process)
    told = tuple([_phase(curve, job) for curve in found])
    return Tried(job, found, top, allocated, reserved, process, known.context_bytes, told)


def on_gpu(job: DiffusionJob) -> DiffusionJob:
    """*job* with every component on the GPU."""
    workload = msgspec.structs.replace(job.workload, offload=ComponentOffload.NONE)
    return msgspec.structs.replace(job, workload=workload)


def _at_least(outer: Band, inner: Band, more: int) -> Band:
    """*outer*, which holds *inner* and *more* besides, so its ends are no nearer."""
    return Band(
        low_bytes=outer.low_bytes,
        expected_bytes=outer.expected_bytes,
        high_bytes=max(outer.high_bytes, inner.high_bytes + more),
        basis=outer.basis,
    )


def _at_most(inner: Band, outer: Band) -> Band:
    """*inner*, which *outer* holds with more besides, so it reaches no further."""
    return msgspec.structs.replace(inner, high_bytes=max(inner.expected_bytes, min(inner.high_bytes, outer.high_bytes)))


def spread_of(job: DiffusionJob, kind: str, calibration: DiffusionCalibration) -> Spread:
    """The spread of peaks of *kind*, allocated or reserved, of jobs like *job*."""
    if not job.inference:
        return calibration.trained
    if job.offload is not ComponentOffload.NONE:
        return calibration.offloaded
    return calibration.reserved if kind == "reserved" else calibration.allocated


def band(expected: float, spread: Spread, basis: Basis) -> Band:
    """*expected* bytes with the spread of cases that the fit had not seen."""
    return Band(
        low_bytes=round(expected * min(1.0, spread.low_ratio)),
        expected_bytes=round(expected),
        high_bytes=round(expected * max(1.0, spread.high_ratio)),
        basis=basis,
    )


class Judged(NamedTuple):
    """A verdict with the process's memory once the allocator has given back what it must."""

    verdict: Verdict
    budget: int
    expected: int
    high: int
    squeezed: bool
    host: int


def verdict(tried: Tried, placement: Placement) -> Judged:
    """The band of the process against what CUDA sees, less what is occupied; offload is tight at best.

    Where the least that the job can do with fits and only cached blocks do not, PyTorch frees them, once a picture or
    step: the process takes what there is, and the job is tight. What is missing is missing of that least.
    """
    budget = max(0, placement.device.memory_bytes - placement.occupied_bytes)
    floor, wanted, high = round(tried.top.floor), tried.process.expected_bytes, tried.process.high_bytes
    squeezed = floor <= budget < wanted
    expected = max(floor, min(wanted, budget))
    found = judge(
        Load(
            pool=PROCESS,
            budget_bytes=budget,
            one_expected_bytes=expected,
            one_high_bytes=high,
            all_expected_bytes=expected,
            all_high_bytes=high,
        )
    )
    host = 0
    if tried.job.offload is not ComponentOffload.NONE:
        host = sum(part.bytes for part in tried.job.parts) * placement.count
        found = at_best(found, Verdict.TIGHT)
    if lacks_host_ram(placement, host):
        found = Verdict.DOES_NOT_FIT
    return Judged(found, budget, expected, high, squeezed, host)


def placed(tried: Tried, placement: Placement) -> DiffusionPlacement:
    """Everything that the answer says about *placement*, ways to fit left out."""
    judged = verdict(tried, placement)
    total = msgspec.structs.replace(tried.process, expected_bytes=judged.expected, low_bytes=_low(tried, judged))
    return DiffusionPlacement(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        verdict=judged.verdict,
        bound_by=tried.top.curve.phase,
        per_gpu=_per_gpu(tried.top, total),
        peaks=Peaks(allocated=tried.allocated, reserved=_within(tried.reserved, total, tried), process=total),
        phases=tried.told,
        budget_bytes=judged.budget,
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=judged.budget - judged.expected,
        host=Host(ram_bytes=judged.host),
        largest=_makeable(tried, judged, placement),
        notices=(*_notices(judged, tried.job, placement), *short_of_host_ram(placement, judged.host)),
    )


def _low(tried: Tried, judged: Judged) -> int:
    return min(judged.expected, tried.process.low_bytes)


def _within(reserved: Band, total: Band, tried: Tried) -> Band:
    """*reserved* where a process of *total* bytes has no room for more."""
    most = total.expected_bytes - round(tried.context)
    expected = min(reserved.expected_bytes, most)
    return msgspec.structs.replace(reserved, expected_bytes=expected, low_bytes=min(expected, reserved.low_bytes))


def _makeable(tried: Tried, judged: Judged, placement: Placement) -> Makeable:
    size, room = tried.job.size, judged.budget - tried.context
    video = tried.job.pipeline.medium is Medium.VIDEO
    if lacks_host_ram(placement, judged.host):  # however small the picture, the weights have no place
        return Makeable(batch=0, width_pixels=0, height_pixels=0, frames=0 if video else None)
    width, height = largest_size(tried.curves, room, size, max(STEP_PIXELS, multiple(tried.job)))
    return Makeable(
        batch=largest_batch(tried.curves, room, size),
        width_pixels=width,
        height_pixels=height,
        frames=whole_frames(tried.job, most_frames(tried.curves, room, size)) if video else None,
    )


def _per_gpu(top: Top, total: Band) -> DiffusionPerGpu:
    weights = min(round(top.curve.resident), total.expected_bytes)
    states = min(round(top.curve.states), total.expected_bytes - weights)
    live = min(round(top.activations), total.expected_bytes - weights - states)
    return DiffusionPerGpu(
        weights_bytes=weights,
        gradients_bytes=states,
        activations_bytes=live,
        overhead_bytes=total.expected_bytes - weights - states - live,
        total=total,
    )


def _phase(curve: Curve, job: DiffusionJob) -> DiffusionPhase:
    size = job.size
    parts = (curve.resident, curve.states, activations(curve, size.batch, size.pixels, size.frames))
    weights, gradients, live = (round(part) for part in parts)
    return DiffusionPhase(
        phase=PhaseName(curve.phase),
        weights_bytes=weights,
        gradients_bytes=gradients,
        activations_bytes=live,
        allocated_bytes=weights + gradients + live,
    )


def _notices(judged: Judged, job: DiffusionJob, placement: Placement) -> tuple[Notice, ...]:
    found = unsuited(placement.device, job.precision)
    if judged.squeezed:
        found.append(notice(NoticeCode.ALLOCATOR_SQUEEZED, Severity.CAUTION, budget_bytes=judged.budget))
    if judged.host:
        found.append(notice(NoticeCode.COMPONENTS_OFFLOADED, Severity.CAUTION, offloaded_bytes=judged.host))
    return tuple(found)
