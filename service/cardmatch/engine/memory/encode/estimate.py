"""The public call of the memory room for encoders: what a job needs, and what becomes of it on each placement."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.answer import Change, WayToFit
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.elsewhere import elsewhere
from cardmatch.engine.memory.encode.answer import EncodeEstimate, EncodeNeed, EncodePerGpu, EncodePlacement
from cardmatch.engine.memory.encode.job import EncodeJob, settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.explain.encode import explain_encode
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reason import check_copies, check_reason
from cardmatch.engine.memory.verdict import Load, Verdict, judge
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.band import Band, Basis
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

MOST_BATCH, MOST_TOKENS = 65_536, 1 << 20
SLACK_SHARE = 0.3
"""What PyTorch's allocator reserves beside activations of one fixed size (training's reserved over allocated)."""
LOW_RATIO, HIGH_RATIO = 0.85, 1.2
"""Two measured runs cannot give quantiles: the band of a peak whose parts were measured elsewhere."""
GOOD = frozenset({Verdict.COMFORTABLE, Verdict.FITS})


def estimate_encode(
    architecture: Architecture,
    checkpoint: Checkpoint,
    workload: Encode,
    placements: tuple[Placement, ...],
    calibration: DiffusionCalibration,
    *,
    alternatives: tuple[Placement, ...] = (),
    explained: bool = False,
) -> EncodeEstimate:
    """Estimate *workload* on each of *placements*, with each figure's reckoning where *explained*.

    Raises Invalid with pointers into the request.
    """
    job = settle(workload, architecture, checkpoint)
    context = round(calibration.context_bytes.value)
    needed = process(job, job.batch, job.tokens, context).high_bytes
    check_reason(needed, "sequence_tokens" if workload.batch is None else "batch")
    for index, placement in enumerate(placements):
        check_copies(placement, index, "encode")
    found = [placed(job, placement, index, context, alternatives) for index, placement in enumerate(placements)]
    if explained:
        found = [
            _explained(job, each, placement, calibration) for each, placement in zip(found, placements, strict=True)
        ]
    return EncodeEstimate(
        parameters=parameters(architecture),
        need=EncodeNeed(
            weights_bytes=job.weights,
            kv_cache_bytes=job.batch * job.cache,
            activations_bytes=round(job.activations(job.batch, job.tokens)),
            windows=job.windows,
        ),
        placements=tuple(found),
        assumptions=job.assumptions,
        notices=notices_of(job),
        batch=job.batch,
        sequence_tokens=job.tokens,
    )


def _explained(
    job: EncodeJob, found: EncodePlacement, placement: Placement, calibration: DiffusionCalibration
) -> EncodePlacement:
    lines = explain_encode(
        job,
        found,
        placement,
        calibration.context_bytes,
        calibration.as_of,
        elements=parameters(job.architecture).total,
        slack_share=SLACK_SHARE,
    )
    return msgspec.structs.replace(found, explanation=lines)


def process(job: EncodeJob, batch: int, tokens: int, context: float) -> Band:
    """The memory of the process, as nvidia-smi reads it."""
    live = job.activations(batch, tokens)
    above = batch * job.cache + live * (1 + SLACK_SHARE) + context
    return Band(
        low_bytes=round(job.weights + LOW_RATIO * above),
        expected_bytes=round(job.weights + above),
        high_bytes=round(job.weights + HIGH_RATIO * above),
        basis=Basis.EXTRAPOLATED,
    )


def placed(
    job: EncodeJob, placement: Placement, index: int, context: int, alternatives: tuple[Placement, ...]
) -> EncodePlacement:
    """Everything that the answer says about *placement*, the one at *index* of the request."""
    budget = max(0, placement.device.memory_bytes - placement.occupied_bytes)
    judged = judged_on(job, job.batch, job.tokens, context, budget)
    total, verdict = judged.total, judged.verdict
    live, cache = round(job.activations(job.batch, job.tokens)), job.batch * job.cache
    found = EncodePlacement(
        card=placement.device.card,
        count=placement.count,
        layout=placement.layout,
        mig=placement.device.mig,
        verdict=verdict,
        per_gpu=EncodePerGpu(
            weights_bytes=job.weights,
            kv_cache_bytes=cache,
            activations_bytes=live,
            overhead_bytes=total.expected_bytes - job.weights - cache - live,
            total=total,
        ),
        budget_bytes=budget,
        physical_bytes=placement.device.physical_bytes,
        headroom_bytes=budget - total.expected_bytes,
        max_batch=largest_batch(job, budget - context),
        max_sequence_tokens=longest(job, budget - context),
        notices=(notice(NoticeCode.ALLOCATOR_SQUEEZED, Severity.CAUTION, budget_bytes=budget),)
        if judged.squeezed
        else (),
    )
    if not alternatives or verdict in GOOD:
        return found
    return msgspec.structs.replace(found, ways_to_fit=_ways(job, found, placement, index, context, alternatives))


class Judged(NamedTuple):
    """A verdict, and the memory that it is about once the allocator has given back what it must."""

    verdict: Verdict
    total: Band
    squeezed: bool


def judged_on(job: EncodeJob, batch: int, tokens: int, context: float, budget: int) -> Judged:
    """The process against *budget*; where only the allocator's slack does not fit, PyTorch gives it back: tight."""
    total = process(job, batch, tokens, context)
    floor = math.ceil(job.weights + batch * job.cache + job.activations(batch, tokens) + context)
    squeezed = floor <= budget < total.expected_bytes
    if squeezed:
        high = max(budget + 1, total.high_bytes)
        total = Band(low_bytes=min(floor, total.low_bytes), expected_bytes=floor, high_bytes=high, basis=total.basis)
    found = judge(
        Load(
            pool="process",
            budget_bytes=budget,
            one_expected_bytes=total.expected_bytes,
            one_high_bytes=total.high_bytes,
            all_expected_bytes=total.expected_bytes,
            all_high_bytes=total.high_bytes,
        )
    )
    return Judged(found, total, squeezed)


def largest_batch(job: EncodeJob, room: float) -> int:
    """The largest batch at the job's length whose weights, cache and activations take at most *room* bytes."""
    each = job.cache + job.activations(1, job.tokens)
    near = max(0, min(MOST_BATCH, math.floor((room - job.weights) / max(each, 1))))
    return near if near == 0 or _holds(job, near, job.tokens, room) else near - 1


def _holds(job: EncodeJob, batch: int, tokens: int, room: float) -> bool:
    return math.ceil(job.weights + batch * job.cache + job.activations(batch, tokens)) <= room


def longest(job: EncodeJob, room: float) -> int:
    """The longest text at the job's batch, up to the model's limit; 0 where none fits."""
    left = (room - job.weights) / job.batch - job.cache
    if left < job.linear:
        return 0
    most = job.limit or MOST_TOKENS
    if job.square:
        tokens = (math.sqrt(job.linear**2 + 4 * job.square * left) - job.linear) / (2 * job.square)
    else:
        tokens = left / job.linear
    if job.workload.task is EncodeTask.SPEECH:
        return job.tokens if tokens >= job.tokens else 0
    near = min(most, math.floor(tokens))
    return near if near == 0 or _holds(job, job.batch, near, room) else near - 1


def _ways(
    job: EncodeJob,
    found: EncodePlacement,
    placement: Placement,
    index: int,
    context: int,
    alternatives: tuple[Placement, ...],
) -> tuple[WayToFit, ...]:
    """A smaller batch, shorter texts, a larger card: one of each that makes the job fit."""
    ways = []
    batch = job.batch
    while batch > 1:
        batch = (batch + 1) // 2
        judged = judged_on(job, batch, job.tokens, context, found.budget_bytes)
        if judged.verdict in GOOD:
            ways.append(_way(judged, found.budget_bytes, Change(pointer="/workload/batch", value=batch)))
            break
    tokens = job.tokens // 2
    while tokens >= 64 and job.workload.task is not EncodeTask.SPEECH:
        judged = judged_on(job, job.batch, tokens, context, found.budget_bytes)
        if judged.verdict in GOOD:
            ways.append(_way(judged, found.budget_bytes, Change(pointer="/workload/sequence_tokens", value=tokens)))
            break
        tokens //= 2
    for where, changes in elsewhere(placement, index, alternatives):
        budget = max(0, where.device.memory_bytes - where.occupied_bytes)
        judged = judged_on(job, job.batch, job.tokens, context, budget)
        if judged.verdict in GOOD:
            ways.append(_way(judged, budget, *changes))
            break
    return tuple(ways)


def _way(judged: Judged, budget: int, *changes: Change) -> WayToFit:
    return WayToFit(changes=changes, verdict=judged.verdict, headroom_bytes=budget - judged.total.expected_bytes)


def notices_of(job: EncodeJob) -> tuple[Notice, ...]:
    """What is said of a job whatever the card."""
    if job.limit is None or job.tokens <= job.limit:
        return ()
    return (
        notice(
            NoticeCode.ENCODER_LENGTH_BEYOND_MODEL,
            Severity.CAUTION,
            sequence_tokens=job.tokens,
            limit_tokens=job.limit,
        ),
    )
