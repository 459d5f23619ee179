"""From the peak on one rank to the verdict on one placement."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.answer import Host
from cardmatch.engine.memory.arithmetic import FLASH_FROM, below, unsuited
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import Peaks, Phase, TrainingPerGpu, TrainingPlacement
from cardmatch.engine.memory.training.inverse import largest_micro_batch, longest_sequence
from cardmatch.engine.memory.training.tried import PROCESS, Told, Tried
from cardmatch.engine.memory.training.workload import AttentionKernel
from cardmatch.engine.memory.verdict import Load, Verdict, judge
from cardmatch.engine.terms.band import Band
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice


class Judged(NamedTuple):
    """A verdict with the expected process memory after the allocator has given back what it must."""

    verdict: Verdict
    budget: int
    expected: int
    high: int
    squeezed: bool
    host: int


def verdict(tried: Tried, process: Band, placement: Placement) -> Judged:
    """The verdict on *placement*: the band of the *process* against what CUDA sees, less what is occupied.

    Where the least that the job can do with fits and only the allocator's slack does not, PyTorch frees cached blocks:
    the job runs, tightly. Jobs with offloaded states are tight at best; where host memory is known and too small they
    do not fit.
    """
    budget = max(0, placement.device.memory_bytes - placement.occupied_bytes)
    top = tried.top
    squeezed = top.floor <= budget < top.process
    expected = budget if squeezed else round(top.process)
    high = max(expected, process.high_bytes)
    if squeezed:
        high = max(high, budget + 1)
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
    host = round(tried.fullest.states.host + tried.fullest.hosted_per_token * tried.tokens) * placement.count
    if tried.fullest.states.host and found is not Verdict.DOES_NOT_FIT:
        found = Verdict.TIGHT
    if placement.host_ram_bytes is not None and host > placement.host_ram_bytes:
        found = Verdict.DOES_NOT_FIT
    return Judged(found, budget, expected, high, squeezed, host)


def placed(tried: Tried, known: Told, placement: Placement) -> TrainingPlacement:
    """Everything that the answer says about *placement*, ways to fit left out."""
    judged = verdict(tried, known.process, placement)
    job, mesh, top = tried.job, tried.mesh, tried.top
    total = Band(
        low_bytes=min(judged.expected, known.process.low_bytes),
        expected_bytes=judged.expected,
        high_bytes=judged.high,
        basis=known.process.basis,
    )
    limit = max(job.sequence_tokens, job.architecture.maximum_context_tokens or job.sequence_tokens)
    return TrainingPlacement(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        sharding=mesh.sharding,
        verdict=judged.verdict,
        bound_by=top.moment,
        per_gpu=_per_gpu(next(each for each in known.phases if each.phase is top.moment), total, tried),
        peaks=Peaks(allocated=known.allocated, reserved=known.reserved, process=total),
        phases=known.phases,
        budget_bytes=judged.budget,
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=judged.budget - judged.expected,
        host=Host(ram_bytes=judged.host),
        max_micro_batch=largest_micro_batch(tried.stages, judged.budget, job.sequence_tokens, mesh.context),
        max_sequence_tokens=longest_sequence(tried.stages, judged.budget, job.micro_batch, limit, mesh.context),
        schedule=known.schedule,
        notices=_notices(tried, judged, placement),
    )


def _per_gpu(at: Phase, total: Band, tried: Tried) -> TrainingPerGpu:
    activations = at.activations_bytes + at.logits_bytes + at.temporaries_bytes
    parts = at.weights_bytes + at.gradients_bytes + at.optimizer_bytes + activations
    # A squeezed job has paged part of its optimizer states out; the rest is what fits.
    paged = min(at.optimizer_bytes, max(0, parts + round(tried.curves.outside) - total.expected_bytes))
    return TrainingPerGpu(
        weights_bytes=at.weights_bytes,
        gradients_bytes=at.gradients_bytes,
        optimizer_bytes=at.optimizer_bytes - paged,
        activations_bytes=activations,
        overhead_bytes=max(0, total.expected_bytes - parts + paged),
        total=total,
    )


def _notices(tried: Tried, judged: Judged, placement: Placement) -> tuple[Notice, ...]:
    found = []
    if judged.squeezed:
        found.append(
            Notice(
                code=NoticeCode.ALLOCATOR_SQUEEZED,
                severity=Severity.CAUTION,
                params={"budget_bytes": judged.budget},
            )
        )
    if tried.fullest.states.host:
        found.append(
            Notice(code=NoticeCode.TRAINING_OFFLOAD, severity=Severity.CAUTION, params={"offloaded_bytes": judged.host})
        )
    found += unsuited(placement.device, tried.job.precision)
    if tried.job.attention is AttentionKernel.FLASH and below(placement.device, FLASH_FROM):
        card = placement.device.card or "—"
        found.append(notice(NoticeCode.FLASH_NOT_ON_CARD, Severity.CAUTION, card=card))
    return tuple(found)
