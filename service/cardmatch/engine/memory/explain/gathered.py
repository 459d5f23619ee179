"""The lines of what a rank holds whole although it is sharded: gathered weights and gradients on their way."""

from __future__ import annotations

from cardmatch.engine.memory.explain.explanation import Explanation, Rule, Source
from cardmatch.engine.memory.explain.lines import line
from cardmatch.engine.memory.training.gathers import (
    BUCKET_PARAMETERS,
    BUCKETS,
    LIVE_PARAMETERS,
    UNITS_IN_FLIGHT,
    copied_elements,
    head_elements,
    last_elements,
    trained,
    unit_bytes,
)
from cardmatch.engine.memory.training.held import Held, largest_matrix
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.peak import Moment
from cardmatch.engine.memory.training.tried import Tried
from cardmatch.engine.memory.training.workload import Offload, Sharding
from cardmatch.engine.terms.notice import Scalar

_FSDP = Source(engine="pytorch", version="2.13", file="torch/distributed/fsdp/_runtime_utils.py")
_SOURCES = {
    Rule.AUTOCAST_COPIES: Source(engine="pytorch", version="2.13", file="aten/src/ATen/autocast_mode.cpp"),
    Rule.GATHERED_UNITS: _FSDP,
    Rule.GATHERED_STAGE: _FSDP,
    Rule.GATHERED_LIVE: Source(engine="deepspeed", version="0.19.6", file="deepspeed/runtime/zero/config.py"),
    Rule.UNPACKED_MATRIX: Source(engine="bitsandbytes", version="0.49", file="bitsandbytes/autograd/_functions.py"),
    Rule.REDUCED_UNITS: _FSDP,
    Rule.LAST_GRADIENTS: _FSDP,
    Rule.REDUCE_BUCKETS: Source(engine="deepspeed", version="0.19.6", file="deepspeed/runtime/zero/config.py"),
    Rule.STEP_COPY: Source(engine="pytorch", version="2.13", file="torch/optim/adamw.py"),
}
_SHARDED_BY_UNIT = frozenset({Sharding.FSDP, Sharding.HSDP})


def _line(rule: Rule, result_bytes: float, **numbers: Scalar) -> Explanation:
    return line(rule, result_bytes, numbers, _SOURCES[rule])


def by_unit(job: TrainingJob, mesh: Mesh) -> bool:
    """Whether weights are gathered unit by unit: FSDP, and weights that wait in host memory."""
    return mesh.sharding in _SHARDED_BY_UNIT or (
        Offload.PARAMETERS in job.offload and mesh.sharding is not Sharding.ZERO3
    )


def gathered_lines(job: TrainingJob, mesh: Mesh, on: Held) -> list[Explanation]:
    """Weights that lie there whole during forward and backward."""
    lines = _weights(job, mesh, on)
    if job.quantised:
        each, largest = job.recipe.compute, largest_matrix(job)
        numbers: dict[str, Scalar] = {"bytes_each": each, "elements": largest, "tensor": mesh.tensor}
        lines.append(_line(Rule.UNPACKED_MATRIX, each * largest / mesh.tensor, **numbers))
    return lines


def _weights(job: TrainingJob, mesh: Mesh, on: Held) -> list[Explanation]:
    compute = job.recipe.compute
    if mesh.sharding is Sharding.ZERO3:
        each = on.bytes / max(on.elements, 1) if job.quantised else compute
        numbers: dict[str, Scalar] = {"bytes_each": each, "elements": on.elements, "most_elements": LIVE_PARAMETERS}
        return [_line(Rule.GATHERED_LIVE, each * min(on.elements, LIVE_PARAMETERS), **numbers)]
    if by_unit(job, mesh):
        return [_units(job, on) if mesh.pipeline == 1 else _each(Rule.GATHERED_STAGE, compute, on.elements)]
    copied = 0.0 if mesh.sharding is Sharding.ZERO2 else copied_elements(job, mesh, on)
    return [_each(Rule.AUTOCAST_COPIES, compute, copied)] if copied else []


def _each(rule: Rule, each: int, elements: float) -> Explanation:
    return _line(rule, each * elements, bytes_each=each, elements=elements)


def _units(job: TrainingJob, on: Held) -> Explanation:
    layer, root = unit_bytes(job, on)
    apart = job.behaviour.root_apart
    whole, least = (0.0, root / 2) if apart else (root, 0.0)
    size = max(UNITS_IN_FLIGHT * layer + whole, least)
    numbers: dict[str, Scalar] = {"layer_bytes": layer, "root_bytes": whole, "least_bytes": least}
    return _line(Rule.GATHERED_UNITS, size, units=UNITS_IN_FLIGHT, **numbers)


def buffer_lines(tried: Tried) -> list[Explanation]:
    """Gradients that are being reduced, and at the optimizer's step its own copy of the parameters."""
    moment, gathered = tried.top.moment, tried.fullest.gathers
    if moment is Moment.RECOMPUTE and gathered.backward:
        return [_backward(tried, gathered.backward)]
    if moment is not Moment.STEP:
        return []
    states, whole = tried.fullest.states, gathered.accumulated
    copied = max(states.gradients + states.step_temporary, whole) - max(states.gradients, whole)
    numbers: dict[str, Scalar] = {
        "gradient_bytes": states.gradients,
        "copy_bytes": states.step_temporary,
        "whole_bytes": whole,
    }
    lines = [_line(Rule.STEP_COPY, copied, **numbers)]
    return lines + ([_end(tried, gathered.end)] if gathered.end else [])


def _backward(tried: Tried, size: float) -> Explanation:
    job, on = tried.job, tried.fullest.held
    if not by_unit(job, tried.mesh):
        return _buckets(tried, size)
    compute = job.recipe.compute
    head = 0.0 if job.behaviour.root_apart else compute * head_elements(on)
    each = compute + job.behaviour.reduce_bytes
    numbers: dict[str, Scalar] = {"bytes_each": each, "layer_elements": on.layer, "head_bytes": head}
    return _line(Rule.REDUCED_UNITS, size, units=UNITS_IN_FLIGHT, **numbers)


def _end(tried: Tried, size: float) -> Explanation:
    job, on = tried.job, tried.fullest.held
    if not by_unit(job, tried.mesh):
        return _buckets(tried, size)
    staged = tried.mesh.pipeline > 1
    each = job.recipe.compute + (0 if staged else job.behaviour.reduce_bytes)
    elements = on.layer if staged else last_elements(on, apart=job.behaviour.root_apart)
    return _line(Rule.LAST_GRADIENTS, size, bytes_each=each, elements=elements)


def _buckets(tried: Tried, size: float) -> Explanation:
    job = tried.job
    numbers: dict[str, Scalar] = {
        "buckets": BUCKETS,
        "bytes_each": job.recipe.compute,
        "elements": trained(job, tried.fullest.held),
        "bucket_elements": BUCKET_PARAMETERS,
    }
    return _line(Rule.REDUCE_BUCKETS, size, **numbers)
