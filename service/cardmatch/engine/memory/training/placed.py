"""From the peak on one rank to the verdict on one placement."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.answer import Host
from cardmatch.engine.memory.arithmetic import FLASH_FROM, below, unsuited
from cardmatch.engine.memory.host_ram import lacks_host_ram, short_of_host_ram
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import Peaks, Phase, TrainingPerGpu, TrainingPlacement
from cardmatch.engine.memory.training.inverse import MOST_SEQUENCE_TOKENS, largest_micro_batch, longest_sequence
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
    if lacks_host_ram(placement, host):
        found = Verdict.DOES_NOT_FIT
    return Judged(found, budget, expected, high, squeezed, host)


def _host_tokens(tried: Tried, placement: Placement) -> float:
    """Tokens of a micro-batch on one rank whose checkpoints the machine's memory holds beside the states; < 0: none."""
    if placement.host_ram_bytes is None:
        return math.inf
    left = placement.host_ram_bytes / placement.count - tried.fullest.states.host
    each = tried.fullest.hosted_per_token
    if left < 0 or not each:
        return math.inf if left >= 0 else -1.0
    return left / each


def _most(tried: Tried, placement: Placement, budget: int) -> tuple[int, int]:
    """The largest micro-batch and the longest sequence that run, in the GPU's memory and in the machine's."""
    job, ranks = tried.job, tried.mesh.context
    limit = max(job.sequence_tokens, job.architecture.maximum_context_tokens or MOST_SEQUENCE_TOKENS)
    held = _host_tokens(tried, placement)
    if held < 0:
        return 0, 0
    batch = largest_micro_batch(tried.stages, budget, job.sequence_tokens, ranks)
    length = longest_sequence(tried.stages, budget, job.micro_batch, limit, ranks)
    if held == math.inf:
        return batch, length
    return min(batch, int(held * ranks / job.sequence_tokens)), min(length, int(held * ranks / job.micro_batch))


def placed(tried: Tried, known: Told, placement: Placement) -> TrainingPlacement:
    """Everything that the answer says about *placement*, ways to fit left out."""
    judged = verdict(tried, known.process, placement)
    mesh, top = tried.mesh, tried.top
    total = Band(
        low_bytes=min(judged.expected, known.process.low_bytes),
        expected_bytes=judged.expected,
        high_bytes=judged.high,
        basis=known.process.basis,
    )
    micro_batch, length = _most(tried, placement, judged.budget)
    return TrainingPlacement(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        sharding=mesh.sharding,
        verdict=judged.verdict,
        bound_by=top.moment,
        per_gpu=_per_gpu(next(each for each in known.phases if each.phase is top.moment), total, tried),
        peaks=Peaks(allocated=known.allocated, reserved=_within(tried, known, total), process=total),
        phases=known.phases,
        budget_bytes=judged.budget,
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=judged.budget - judged.expected,
        host=Host(ram_bytes=judged.host),
        max_micro_batch=micro_batch,
        max_sequence_tokens=length,
        schedule=known.schedule,
        notices=_notices(tried, judged, placement),
    )


def _within(tried: Tried, known: Told, total: Band) -> Band:
    """What is reserved where a process of *total* bytes has no room for more."""
    room = max(known.allocated.expected_bytes, total.expected_bytes - round(tried.curves.outside))
    expected = min(known.reserved.expected_bytes, room)
    low = min(expected, known.reserved.low_bytes)
    return msgspec.structs.replace(known.reserved, expected_bytes=expected, low_bytes=low)


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
    found += short_of_host_ram(placement, judged.host)
    found += unsuited(placement.device, tried.job.precision)
    if tried.job.attention is AttentionKernel.FLASH and below(placement.device, FLASH_FROM):
        card = placement.device.card or "—"
        found.append(notice(NoticeCode.FLASH_NOT_ON_CARD, Severity.CAUTION, card=card))
    return tuple(found)
