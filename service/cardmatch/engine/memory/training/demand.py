"""What a step of training asks of one rank, as coefficients: any length and batch then costs a few multiplications."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.training.frameworks import CrossEntropy
from cardmatch.engine.memory.training.gathers import Gathers, gathers
from cardmatch.engine.memory.training.held import Held, held
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.shape import saved_layers
from cardmatch.engine.memory.training.source import Sourced, sourced
from cardmatch.engine.memory.training.states import States, states
from cardmatch.engine.memory.training.style import Saved
from cardmatch.engine.memory.training.workload import Checkpointing, Offload

LOGIT_CHUNKS = 8
"""torchtune CEWithChunkedOutputLoss num_output_chunks."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes on one rank of one pipeline stage; `*_per_token` per token of the micro-batch on the rank, `*_scores` per
    token and token of the sequence. Calibrated factors are not yet in them.

    `kept` survives from forward to backward, `hosted` does so in host memory; `live` is what the layer in its backward
    pass adds; `sourced` is per sequence. `logits_per_token` counts elements of the vocabulary, `loss_per_token` and
    `loss_fixed` bytes of losses that never hold all logits.
    """

    held: Held
    states: States
    gathers: Gathers
    kept_per_token: float
    kept_scores: float
    hosted_per_token: float
    live_per_token: float
    live_scores: float
    sourced: Sourced
    logits_per_token: float
    loss_per_token: float
    loss_fixed: float
    cross_entropy: CrossEntropy
    recomputes: bool
    eager: bool
    sharded: bool
    varying: bool
    paged: bool
    several: bool

    @property
    def grows(self) -> bool:
        """Whether logits of ever new lengths make the allocator reserve more."""
        return self.varying and bool(self.logits_per_token or self.loss_per_token)


def demands(job: TrainingJob, mesh: Mesh) -> tuple[Demand, ...]:
    """The demand of every stage that can be the fullest: the only one, or the first and the last."""
    if mesh.pipeline == 1:
        return (_demand(job, mesh, first=True, last=True),)
    return (_demand(job, mesh, first=True, last=False), _demand(job, mesh, first=False, last=True))


def _demand(job: TrainingJob, mesh: Mesh, *, first: bool, last: bool) -> Demand:
    on = held(job, mesh, first=first, last=last)
    # 1F1B: the first of p stages holds p micro-batches, the last one (Korthikanti et al., arXiv 2205.05198, §4.2.3).
    in_flight = mesh.pipeline if first else 1
    job = _in_16_bits(job) if mesh.weight_shards > 1 else job
    kept, scores = _kept(job, mesh)
    hosted = 0.0
    if Offload.ACTIVATIONS in job.offload and job.checkpointing is not Checkpointing.NONE:
        # Two layers' worth is on its way to the host or back.
        share = min(1.0, 2 / len(job.architecture.layer_order))
        hosted, kept, scores = (1 - share) * kept, share * kept, share * scores
    live, live_scores = _live(job, mesh)
    source = sourced(job, mesh, first=first)
    logits, per_token, fixed = _loss(job, mesh, on) if last else (0.0, 0.0, 0.0)
    return Demand(
        held=on,
        states=states(job, mesh, on),
        gathers=gathers(job, mesh, on),
        kept_per_token=kept * in_flight / mesh.pipeline,
        kept_scores=scores * in_flight / mesh.pipeline,
        hosted_per_token=hosted * in_flight / mesh.pipeline,
        live_per_token=live,
        live_scores=live_scores,
        sourced=source._replace(kept=source.kept * in_flight),
        logits_per_token=logits,
        loss_per_token=per_token,
        loss_fixed=fixed,
        cross_entropy=job.cross_entropy,
        recomputes=job.checkpointing is Checkpointing.FULL,
        eager=job.eager,
        sharded=mesh.weight_shards > 1,
        varying=job.varying,
        paged=job.optimizer.paged,
        several=mesh.gpus > 1,
    )


def _in_16_bits(job: TrainingJob) -> TrainingJob:
    """FSDP's mixed precision hands layers 16-bit parameters and inputs, so the residual stream is in 16 bits too."""
    if job.style.residual == job.style.compute:
        return job
    style = job.style._replace(residual=job.style.compute)
    return msgspec.structs.replace(job, style=style, layers=saved_layers(job.architecture, style))


def _split(saved: Saved, mesh: Mesh) -> float:
    """Bytes per token of one layer on a tensor rank, the sequence split too (Korthikanti et al., equation 4)."""
    return (saved.whole + saved.sharded) / mesh.tensor


def _kept(job: TrainingJob, mesh: Mesh) -> tuple[float, float]:
    """Bytes per token, and per token and token, that all layers keep until their backward pass."""
    hidden = job.architecture.hidden_size
    checkpoint = job.style.residual * hidden / mesh.tensor
    kept = scores = 0.0
    for count, saved in job.layers:
        if job.checkpointing is Checkpointing.FULL:
            kept += count * checkpoint
        elif job.checkpointing is Checkpointing.NONE:
            kept += count * _split(saved, mesh)
            scores += count * saved.scores / mesh.tensor
        elif job.behaviour.selective_keeps_all_but_scores:
            kept += count * _split(saved, mesh)
        else:
            kept += count * (checkpoint + (saved.attention + saved.outputs / 2) / mesh.tensor)
    return kept, scores


def _live(job: TrainingJob, mesh: Mesh) -> tuple[float, float]:
    """What the layer in its backward pass holds beside what was kept: all of it if it is recomputed."""
    live = scores = 0.0
    gathered = 3 * job.recipe.compute * job.architecture.hidden_size if mesh.tensor > 1 else 0
    for _, saved in job.layers:
        own = _split(saved, mesh) if job.checkpointing is not Checkpointing.NONE else 0.0
        live = max(live, own + saved.transient / mesh.tensor + gathered)
        if job.checkpointing is not Checkpointing.NONE:
            scores = max(scores, saved.scores / mesh.tensor)
    return live, scores


def _loss(job: TrainingJob, mesh: Mesh, on: Held) -> tuple[float, float, float]:
    """Vocabulary elements per token whose logits exist, and bytes per token and in all of a fused loss."""
    if not job.architecture.output_head or job.architecture.vocabulary_size == 0:
        return 0.0, 0.0, 0.0
    vocabulary = job.architecture.vocabulary_size / mesh.tensor
    compute, hidden = job.recipe.compute, job.architecture.hidden_size
    if job.cross_entropy is CrossEntropy.LINEAR:
        # Liger: chunks of about tokens × hidden logits in fp32 and 16 bits, and the gradients of both inputs.
        weight = compute * on.table if job.full else 0.0
        return 0.0, hidden * (4 + 2 * compute), weight
    if job.cross_entropy is CrossEntropy.CHUNKED:
        return 0.0, vocabulary * (compute + 4 / LOGIT_CHUNKS), 0.0
    return vocabulary, 0.0, 0.0
