"""The public call of the memory room for encoders: what a job needs, and what becomes of it on each placement."""

from __future__ import annotations

import math

import msgspec

from cardmatch.engine.memory.answer import Change, WayToFit
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.diffusion.estimate import check_copies, check_reason
from cardmatch.engine.memory.encode.answer import EncodeEstimate, EncodeNeed, EncodePerGpu, EncodePlacement
from cardmatch.engine.memory.encode.job import EncodeJob, settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.placement import Placement
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
) -> EncodeEstimate:
    """Estimate *workload* on each of *placements*. Raises Invalid with pointers into the request."""
    job = settle(workload, architecture, checkpoint)
    context = round(calibration.context_bytes.value)
    check_reason(process(job, job.batch, job.tokens, context).high_bytes)
    for index, placement in enumerate(placements):
        check_copies(placement, index, "encode")
    return EncodeEstimate(
        parameters=parameters(architecture),
        need=EncodeNeed(
            weights_bytes=job.weights,
            kv_cache_bytes=job.batch * job.cache,
            activations_bytes=round(job.activations(job.batch, job.tokens)),
            windows=job.windows,
        ),
        placements=tuple(
            [_placed(job, placement, index, context, alternatives) for index, placement in enumerate(placements)]
        ),
        assumptions=job.assumptions,
        notices=_notices(job),
        batch=job.batch,
        sequence_tokens=job.tokens,
    )


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


def _placed(
    job: EncodeJob, placement: Placement, index: int, context: int, alternatives: tuple[Placement, ...]
) -> EncodePlacement:
    total = process(job, job.batch, job.tokens, context)
    budget = max(0, placement.device.memory_bytes - placement.occupied_bytes)
    live, cache = round(job.activations(job.batch, job.tokens)), job.batch * job.cache
    verdict = _verdict(total, budget)
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
    )
    if not alternatives or verdict in GOOD:
        return found
    return msgspec.structs.replace(found, ways_to_fit=_ways(job, found, placement, index, context, alternatives))


def _verdict(total: Band, budget: int) -> Verdict:
    return judge(
        Load(
            pool="process",
            budget_bytes=budget,
            one_expected_bytes=total.expected_bytes,
            one_high_bytes=total.high_bytes,
            all_expected_bytes=total.expected_bytes,
            all_high_bytes=total.high_bytes,
        )
    )


def largest_batch(job: EncodeJob, room: float) -> int:
    """The largest batch at the job's length whose weights, cache and activations take at most *room* bytes."""
    each = job.cache + job.activations(1, job.tokens)
    return max(0, min(MOST_BATCH, math.floor((room - job.weights) / max(each, 1))))


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
    return min(most, math.floor(tokens))


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
        total = process(job, batch, job.tokens, context)
        if (verdict := _verdict(total, found.budget_bytes)) in GOOD:
            ways.append(_way("/workload/batch", batch, verdict, found.budget_bytes - total.expected_bytes))
            break
    tokens = job.tokens // 2
    while tokens >= 64 and job.workload.task is not EncodeTask.SPEECH:
        total = process(job, job.batch, tokens, context)
        if (verdict := _verdict(total, found.budget_bytes)) in GOOD:
            ways.append(_way("/workload/sequence_tokens", tokens, verdict, found.budget_bytes - total.expected_bytes))
            break
        tokens //= 2
    total = found.per_gpu.total
    for other in alternatives:
        verdict = _verdict(total, other.device.memory_bytes)
        if other.device.memory_bytes > placement.device.memory_bytes and verdict in GOOD:
            spare = other.device.memory_bytes - total.expected_bytes
            ways.append(_way(f"/cards/{index}/card", other.device.card or "", verdict, spare))
            break
    return tuple(ways)


def _way(pointer: str, value: int | str, verdict: Verdict, headroom: int) -> WayToFit:
    return WayToFit(changes=(Change(pointer=pointer, value=value),), verdict=verdict, headroom_bytes=headroom)


def _notices(job: EncodeJob) -> tuple[Notice, ...]:
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
