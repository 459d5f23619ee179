"""From examples and epochs to steps and tokens."""

from __future__ import annotations

import math

from cardmatch.engine.memory.training.answer import Schedule
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh


def schedule(job: TrainingJob, mesh: Mesh) -> Schedule:
    """The steps of *job* on *mesh*: every data-parallel replica takes micro-batch × accumulation sequences a step.

    Packed sequences, the default, are full; others hold one example each, cut at the sequence length.
    """
    replicas = mesh.data // mesh.context
    sequences = job.micro_batch * job.accumulation * replicas
    data = job.workload.data
    if data is None:
        return Schedule(
            sequences_per_step=sequences,
            tokens_per_step=sequences * job.sequence_tokens,
            steps=None,
            train_tokens=None,
        )
    packed = job.workload.packing is not False
    each = job.sequence_tokens if packed else min(job.sequence_tokens, data.mean_tokens_per_example)
    per_epoch = data.examples * data.mean_tokens_per_example / each if packed else data.examples
    tokens = data.examples * data.epochs * (data.mean_tokens_per_example if packed else each)
    return Schedule(
        sequences_per_step=sequences,
        tokens_per_step=sequences * each,
        steps=max(1, math.ceil(per_epoch / sequences * data.epochs)),  # a share of an epoch may round to nothing
        train_tokens=max(1, round(tokens)),
    )
