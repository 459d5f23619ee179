"""Weights, gradients and optimizer states on one rank, and what the optimizer's step needs beside them."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.held import Held, largest_matrix
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.recipes import state_bytes
from cardmatch.engine.memory.training.workload import Offload, Sharding

_WIDE = 4


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
        one = largest_gradient(job, mesh, on) * job.recipe.gradient
        made = made._replace(gradients=min(made.gradients, one / mesh.gradient_shards), step_temporary=0)
    held = made.gradients if job.accumulation > 1 and not job.workload.optimizer_in_backward else 0
    if mesh.sharding is Sharding.DDP:
        # DistributedDataParallel's buckets are a second copy of the gradients (gradient_as_bucket_view is off).
        made = made._replace(gradients=2 * made.gradients)
        held = made.gradients
    return _offloaded(job, made._replace(held_gradients=held))


def largest_gradient(job: TrainingJob, mesh: Mesh, on: Held) -> float:
    """Elements of the largest gradient: all that lives at once where the optimizer steps in the backward pass."""
    return max(on.table, largest_matrix(job) / mesh.tensor)


def gradient_bytes(job: TrainingJob) -> int:
    """Bytes of the gradient of one trained parameter."""
    if not job.full:
        return adapter_bytes(job)
    own = job.behaviour.gradient_bytes
    return job.recipe.gradient if own is None or not job.recipe.master else own


def optimizer_bytes(job: TrainingJob, on: Held) -> float:
    """Bytes of optimizer states and master copy per trained parameter."""
    if not job.full:
        return job.optimizer.states * adapter_bytes(job) + job.optimizer.fixed
    recipe = job.recipe
    kept = state_bytes(job.optimizer, recipe.state, on.elements - on.table, on.table) + recipe.master * on.elements
    return kept / max(on.elements, 1)


def adapter_bytes(job: TrainingJob) -> int:
    """Bytes of one weight of an adapter or a saved module."""
    return job.behaviour.adapter_bytes if job.recipe.weight < _WIDE else job.recipe.weight


def adapter_elements(job: TrainingJob, mesh: Mesh) -> float:
    """Weights of adapters and saved modules on one rank before sharding."""
    return job.adapters.parameters / (mesh.tensor * mesh.pipeline) + job.adapters.saved_parameters / mesh.tensor


def _full(job: TrainingJob, mesh: Mesh, on: Held) -> States:
    recipe, gradient = job.recipe, gradient_bytes(job)
    own = mesh.sharded(on.elements, on.experts, mesh.optimizer_shards)
    temporary = 0.0
    if recipe.master:
        temporary = 4 * own if gradient < 4 else 0
    elif job.optimizer.temporary and not _fused(job):
        temporary = recipe.weight * own
    return States(
        weights=recipe.weight * mesh.sharded(on.elements, on.experts, mesh.weight_shards),
        gradients=gradient * mesh.sharded(on.elements, on.experts, mesh.gradient_shards),
        optimizer=optimizer_bytes(job, on) * own,
        step_temporary=temporary,
        held_gradients=0,
        host=0,
    )


def _adapters(job: TrainingJob, mesh: Mesh, on: Held) -> States:
    """Frozen weights as stored; adapters and saved modules as trained parameters with fp32 or 16-bit states."""
    size, trained = adapter_bytes(job), adapter_elements(job, mesh)
    temporary = size * trained if job.optimizer.temporary and not _fused(job) else 0.0
    return States(
        weights=mesh.sharded(on.bytes, on.experts_bytes, mesh.weight_shards) + size * trained / mesh.weight_shards,
        gradients=size * trained / mesh.gradient_shards,
        optimizer=optimizer_bytes(job, on) * trained / mesh.optimizer_shards,
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
