"""Weights, gradients and optimizer states on one rank, and what the optimizer's step needs beside them."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.held import Held, largest_matrix
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.recipes import state_bytes
from cardmatch.engine.memory.training.workload import Offload, Sharding


class States(NamedTuple):
    """Bytes on one rank; host bytes are what the rank keeps in the machine's memory."""

    weights: float
    gradients: float
    optimizer: float
    step_temporary: float
    held_gradients: float
    host: float


def states(job: TrainingJob, mesh: Mesh, on: Held) -> States:
    """The states of the parameters *on* a rank: ZeRO (arXiv 1910.02054) §5 for every kind of sharding."""
    made = _full(job, mesh, on) if job.full else _adapters(job, mesh, on)
    if job.workload.optimizer_in_backward:
        one = max(on.table, largest_matrix(job) / mesh.tensor) * job.recipe.gradient
        made = made._replace(gradients=min(made.gradients, one / mesh.gradient_shards), step_temporary=0)
    held = made.gradients if job.accumulation > 1 and not job.workload.optimizer_in_backward else 0
    if mesh.sharding is Sharding.DDP:
        # DistributedDataParallel's buckets are a second copy of the gradients (gradient_as_bucket_view is off).
        made = made._replace(gradients=2 * made.gradients)
        held = made.gradients
    return _offloaded(job, made._replace(held_gradients=held))


def _full(job: TrainingJob, mesh: Mesh, on: Held) -> States:
    recipe, optimizer = job.recipe, job.optimizer
    gradient = recipe.gradient
    if recipe.master and job.behaviour.gradient_bytes is not None:
        gradient = job.behaviour.gradient_bytes
    own = mesh.sharded(on.elements, on.experts, mesh.optimizer_shards)
    kept = state_bytes(optimizer, recipe.state, on.elements - on.table, on.table) + recipe.master * on.elements
    each = kept / max(on.elements, 1)
    temporary = 0.0
    if recipe.master:
        temporary = 4 * own if gradient < 4 else 0
    elif optimizer.temporary and not _fused(job):
        temporary = recipe.weight * own
    return States(
        weights=recipe.weight * mesh.sharded(on.elements, on.experts, mesh.weight_shards),
        gradients=gradient * mesh.sharded(on.elements, on.experts, mesh.gradient_shards),
        optimizer=each * own,
        step_temporary=temporary,
        held_gradients=0,
        host=0,
    )


def _adapters(job: TrainingJob, mesh: Mesh, on: Held) -> States:
    """Frozen weights as stored; adapters and saved modules as trained parameters with fp32 or 16-bit states."""
    share = mesh.tensor * mesh.pipeline
    added, saved = job.adapters.parameters / share, job.adapters.saved_parameters / mesh.tensor
    size = job.behaviour.adapter_bytes if job.recipe.weight < 4 else job.recipe.weight
    each = job.optimizer.states * size + job.optimizer.fixed
    trained = added + saved
    temporary = size * trained if job.optimizer.temporary and not _fused(job) else 0.0
    return States(
        weights=mesh.sharded(on.bytes, on.experts_bytes, mesh.weight_shards) + size * trained / mesh.weight_shards,
        gradients=size * trained / mesh.gradient_shards,
        optimizer=each * trained / mesh.optimizer_shards,
        step_temporary=temporary / mesh.optimizer_shards,
        held_gradients=0,
        host=0,
    )


def _fused(job: TrainingJob) -> bool:
    fused = job.workload.fused_optimizer
    return job.workload.optimizer_in_backward or (job.behaviour.fused_optimizer if fused is None else fused)


def _offloaded(job: TrainingJob, made: States) -> States:
    """Offloaded parameters take their gradients and, where the step runs on the host, the states along."""
    host = 0.0
    if Offload.PARAMETERS in job.offload:
        host += made.weights + made.gradients
        made = made._replace(weights=0, gradients=0, held_gradients=0)
    if Offload.OPTIMIZER in job.offload or Offload.PARAMETERS in job.offload:
        host += made.optimizer
        made = made._replace(optimizer=0, step_temporary=0)
    return made._replace(host=host)
