"""Parameters and gradients that a rank holds whole for a while, although they are sharded or offloaded."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.held import Held, largest_matrix
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.states import adapter_bytes, adapter_elements
from cardmatch.engine.memory.training.workload import Checkpointing, Offload, Sharding
from cardmatch.engine.models.formats import Dtype

UNITS_IN_FLIGHT = 2
"""FSDP gathers the next layer while it computes with one, and reduces one layer's gradients while it computes the
next one's (backward_prefetch, overlapped reduce-scatter)."""
LIVE_PARAMETERS = 10**9
"""DeepSpeed stage3_max_live_parameters: ZeRO-3 gathers up to this many at once."""
BUCKET_PARAMETERS = 5 * 10**8
"""DeepSpeed reduce_bucket_size."""
BUCKETS = 2
"""DeepSpeed overlap_comm reduces one bucket while it fills the next."""

_WIDE = 4


class Gathers(NamedTuple):
    """Bytes: `passes` during forward and backward, `backward` besides once gradients appear, `end` at the last
    gradient, `accumulated` whole gradients that wait for the last micro-batch.
    """

    passes: float = 0
    backward: float = 0
    end: float = 0
    accumulated: float = 0


def gathers(job: TrainingJob, mesh: Mesh, on: Held) -> Gathers:
    """What *mesh* makes a rank hold beyond its own shard."""
    found = _parallel(job, mesh, on)
    if job.quantised:
        # Forward and backward unpack one matrix at a time into the compute type.
        found = found._replace(passes=found.passes + job.recipe.compute * largest_matrix(job) / mesh.tensor)
    return found


def _parallel(job: TrainingJob, mesh: Mesh, on: Held) -> Gathers:
    sharding = mesh.sharding
    if sharding is Sharding.ZERO3:
        return _zero3(job, on)
    if sharding in {Sharding.FSDP, Sharding.HSDP} or Offload.PARAMETERS in job.offload:
        return _pipelined(job, on) if mesh.pipeline > 1 else _fsdp(job, on)
    if sharding is Sharding.ZERO2:
        return Gathers(backward=BUCKETS * job.recipe.compute * min(trained(job, on), BUCKET_PARAMETERS))
    return Gathers(passes=job.recipe.compute * copied_elements(job, mesh, on))


def copied_elements(job: TrainingJob, mesh: Mesh, on: Held) -> float:
    """Elements of which autocast makes 16-bit copies that live beside the fp32 weights.

    Its cache holds copies of fp32 leaves that want gradients until the step ends (aten/src/ATen/autocast_mode.cpp).
    A frozen matrix is copied each time it is used, and the copy lives as long as the backward pass wants it: that of
    one layer where layers are recomputed. Quantised matrices are unpacked into the compute type and never copied.
    """
    autocast = job.recipe.autocast
    if job.full:
        return on.elements if autocast else 0.0
    cached = adapter_elements(job, mesh) if autocast and adapter_bytes(job) > job.recipe.compute else 0.0
    if job.quantised:
        return cached + (head_elements(on) if autocast and job.upcast else 0.0)
    if job.checkpoint.base is not Dtype.FP32 or job.recipe.compute == _WIDE:
        return cached
    layers = on.trunk if job.checkpointing is Checkpointing.NONE else on.layer
    return cached + layers + head_elements(on)


def trained(job: TrainingJob, on: Held) -> float:
    """Parameters whose gradients go through buckets."""
    return on.elements if job.full else job.adapters.parameters + job.adapters.saved_parameters


def _fsdp(job: TrainingJob, on: Held) -> Gathers:
    """FSDP units: layers, and the root with embedding and head, which stays whole from forward to backward."""
    compute, reduce = job.recipe.compute, job.behaviour.reduce_bytes
    layer, root = unit_bytes(job, on)
    apart = job.behaviour.root_apart
    passes = max(UNITS_IN_FLIGHT * layer, root / 2) if apart else UNITS_IN_FLIGHT * layer + root
    if not job.full:
        return Gathers(passes=passes)
    gradients = compute + reduce
    head = compute * head_elements(on)
    return Gathers(
        passes=passes,
        backward=UNITS_IN_FLIGHT * gradients * on.layer + (0 if apart else head),
        end=gradients * last_elements(on, apart=apart),
    )


def unit_bytes(job: TrainingJob, on: Held) -> tuple[float, float]:
    """Bytes of a gathered layer and of the root unit: quantised weights travel as stored, others in 16 bits."""
    if job.quantised:
        return on.layer_bytes, on.root_bytes
    return job.recipe.compute * on.layer, job.recipe.compute * on.root


def head_elements(on: Held) -> float:
    """Elements of the output head, or of the embedding where it is larger: the first gradient of the root unit."""
    return max(on.root - on.table, on.table)


def last_elements(on: Held, *, apart: bool) -> float:
    """Elements of the units whose gradients are reduced last: the first layer, and the root with the embedding."""
    return max(on.root / 2, on.layer) if apart else on.root + on.layer


def _pipelined(job: TrainingJob, on: Held) -> Gathers:
    """Pipeline stages keep their weights gathered between micro-batches and their whole gradients until the last."""
    compute = job.recipe.compute
    return Gathers(
        passes=compute * on.elements,
        accumulated=job.behaviour.reduce_bytes * on.elements if job.full else 0,
        end=compute * on.layer,
    )


def _zero3(job: TrainingJob, on: Held) -> Gathers:
    each = on.bytes / max(on.elements, 1) if job.quantised else job.recipe.compute
    bucket = BUCKETS * job.recipe.compute * min(trained(job, on), BUCKET_PARAMETERS)
    return Gathers(passes=each * min(on.elements, LIVE_PARAMETERS), backward=bucket, end=bucket)
