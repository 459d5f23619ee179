"""The public call of the memory room for training: what a job needs, and what becomes of it on each placement."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.explain.training import explain_training
from cardmatch.engine.memory.job import Spread
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.reason import check_reason
from cardmatch.engine.memory.split import check_layout
from cardmatch.engine.memory.training.answer import TrainingEstimate, TrainingNeed, TrainingPlacement
from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh, mesh
from cardmatch.engine.memory.training.peak import Moment, factors
from cardmatch.engine.memory.training.placed import placed
from cardmatch.engine.memory.training.settle import BITSANDBYTES, settle
from cardmatch.engine.memory.training.shape import counts
from cardmatch.engine.memory.training.states import states
from cardmatch.engine.memory.training.trials import Trials, attempted, described, trials
from cardmatch.engine.memory.training.tried import Tried
from cardmatch.engine.memory.training.ways import GOOD, ways_to_fit
from cardmatch.engine.memory.training.workload import Sharding, Training
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Severity, notice

RULE_OF_THUMB_BYTES_PER_PARAMETER = 16
"""The ZeRO paper's count for mixed-precision Adam (arXiv 1910.02054 §3.1): 2 + 2 + 12, activations left out."""


def estimate_training(
    architecture: Architecture,
    checkpoint: Checkpoint,
    workload: Training,
    placements: tuple[Placement, ...],
    calibration: TrainingCalibration,
    *,
    alternatives: tuple[Placement, ...] = (),
    spread: Spread | None = None,
    explained: bool = False,
) -> TrainingEstimate:
    """Estimate *workload* on each of *placements*.

    *alternatives* are further placements that ways to fit may name, smallest first; without any none is computed.
    *spread* is given for a bare size; *explained* adds each figure's reckoning. Raises Invalid with pointers into the
    request.
    """
    job, assumptions = settle(workload, architecture, checkpoint, spread)
    known, sizes = factors(calibration), counts(architecture)
    shared = trials(job, known, calibration)
    alone = attempted(shared, job, Mesh())
    check_reason(alone.top.process, "sequence_tokens" if workload.micro_batch is None else "micro_batch")
    return TrainingEstimate(
        parameters=sizes,
        need=_need(alone),
        rule_of_thumb_bytes=sizes.total * RULE_OF_THUMB_BYTES_PER_PARAMETER,
        placements=tuple(
            [
                _estimate_one(shared, placement, index, alternatives, explained=explained)
                for index, placement in enumerate(placements)
            ]
        ),
        assumptions=assumptions + _shared_out(job, placements),
        notices=notices_of(job),
        sequence_tokens=job.sequence_tokens,
        micro_batch=job.micro_batch,
    )


def _estimate_one(
    shared: Trials, placement: Placement, index: int, alternatives: tuple[Placement, ...], *, explained: bool
) -> TrainingPlacement:
    job = shared.job
    if placement.device.mig is not None and placement.count > 1:  # NCCL joins no slices
        card = placement.device.card or ""
        raise refusal(FaultCode.MIG_OVER_SEVERAL, f"/cards/{index}/count", card=card)
    check_layout(job.architecture, placement, index)
    tried = attempted(shared, job, mesh(job.workload, job.default_sharding, placement))
    found = placed(tried, described(shared, tried), placement)
    if explained:
        lines = explain_training(tried, found, placement, shared.calibration)
        found = msgspec.structs.replace(found, explanation=lines)
    if not alternatives or found.verdict in GOOD:
        return found
    shrinks = min(found.max_micro_batch, found.max_sequence_tokens) > 0 or tried.top.moment is not Moment.STEP
    ways = ways_to_fit(shared, placement, index, alternatives, shrinks=shrinks)
    return msgspec.structs.replace(found, ways_to_fit=ways)


def _need(alone: Tried) -> TrainingNeed:
    """One copy, offload left aside."""
    job = alone.job
    made = states(msgspec.structs.replace(job, offload=frozenset()), alone.mesh, alone.fullest.held)
    size = job.behaviour.adapter_bytes if job.recipe.weight == job.recipe.compute else job.recipe.weight
    added = job.adapters.parameters + job.adapters.saved_parameters
    total = sum(part.elements for part in job.parts)
    return TrainingNeed(
        weights_bytes=round(made.weights),
        gradients_bytes=round(made.gradients),
        optimizer_bytes=round(made.optimizer),
        adapters_bytes=size * added,
        activations_bytes=round(alone.top.kept + alone.fullest.hosted_per_token * alone.tokens),
        trainable_parameters=total if job.full else added,
    )


def _shared_out(job: TrainingJob, placements: tuple[Placement, ...]) -> tuple[Assumption, ...]:
    """How several GPUs share the states, where the request does not say."""
    meshes = [mesh(job.workload, job.default_sharding, each) for each in placements]
    groups = {each.shards for each in meshes if each.sharding is Sharding.HSDP}
    if len(groups) == 1 and job.workload.shard_group is None:
        return (Assumption(pointer="/workload/shard_group", value=groups.pop()),)
    if job.workload.sharding is not None or not any(each.data > 1 for each in meshes):
        return ()
    return (Assumption(pointer="/workload/sharding", value=job.default_sharding.value),)


def _beside(job: TrainingJob) -> list[Notice]:
    """What runs beside the language model: the encoder, which is counted, and towers, whose inputs are not known."""
    found = []
    encoder = job.architecture.encoder
    if encoder is not None:
        source = encoder.source_tokens
        found.append(notice(NoticeCode.ENCODER_COUNTED, Severity.INFO, source_tokens=source))
    if job.architecture.towers:
        found.append(notice(NoticeCode.TOWERS_NOT_COUNTED, Severity.CAUTION))
    return found


def notices_of(job: TrainingJob) -> tuple[Notice, ...]:
    """What is to be known of *job* wherever it runs."""
    found = []
    limit = job.architecture.maximum_context_tokens
    if limit is not None and job.sequence_tokens > limit:
        found.append(
            Notice(
                code=NoticeCode.CONTEXT_BEYOND_MODEL,
                severity=Severity.CAUTION,
                params={"context_tokens": job.sequence_tokens, "limit_tokens": limit},
            )
        )
    found += _beside(job)
    data = job.workload.data
    if data is not None and job.varying and data.mean_tokens_per_example > job.sequence_tokens:
        mean, length = data.mean_tokens_per_example, job.sequence_tokens
        found.append(notice(NoticeCode.EXAMPLES_CUT, Severity.CAUTION, mean_tokens=mean, sequence_tokens=length))
    routed = any(part.kind is PartKind.EXPERTS for part in job.parts)
    if job.quantised and routed and not job.experts and job.checkpoint.format in BITSANDBYTES:
        found.append(
            Notice(
                code=NoticeCode.EXPERTS_NOT_QUANTISED,
                severity=Severity.WARNING,
                params={"format": job.checkpoint.format},
            )
        )
    return tuple(found)
