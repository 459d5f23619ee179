"""The reckoning of a training step at its peak: weights, gradients and optimizer states on the fullest GPU."""

from __future__ import annotations

from cardmatch.engine.memory.explain.explanation import Explanation, Rule, Source
from cardmatch.engine.memory.explain.gathered import buffer_lines, gathered_lines
from cardmatch.engine.memory.explain.lines import line
from cardmatch.engine.memory.explain.training_moments import activation_lines, overhead_lines
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.peak import Moment
from cardmatch.engine.memory.training.states import (
    adapter_bytes,
    adapter_elements,
    gradient_bytes,
    largest_gradient,
    optimizer_bytes,
)
from cardmatch.engine.memory.training.tried import Tried
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.terms.notice import Scalar

_ZERO = "arXiv 1910.02054"
_SOURCES = {
    Rule.TRAINED_WEIGHTS: Source(engine="paper", version=_ZERO, file="section 5"),
    Rule.FROZEN_WEIGHTS: Source(engine="paper", version="arXiv 2305.14314", file="section 3"),
    Rule.ADAPTER_WEIGHTS: Source(engine="paper", version="arXiv 2106.09685", file="section 4.1"),
    Rule.OFFLOADED: Source(engine="paper", version="arXiv 2101.06840", file="section 3"),
    Rule.GRADIENTS: Source(engine="paper", version=_ZERO, file="section 5"),
    Rule.LARGEST_GRADIENT: Source(engine="paper", version="arXiv 2306.09782", file="section 3"),
    Rule.WHOLE_GRADIENTS: Source(engine="pytorch", version="2.13", file="torch/distributed/fsdp/_runtime_utils.py"),
    Rule.OPTIMIZER_STATES: Source(engine="paper", version=_ZERO, file="section 5"),
    Rule.PAGED_OUT: Source(engine="bitsandbytes", version="0.49", file="bitsandbytes/functional.py"),
    Rule.BUDGET_FREE: Source(engine="pytorch", version="2.13", file="c10/cuda/CUDACachingAllocator.cpp"),
}


def explain_training(
    tried: Tried, found: TrainingPlacement, placement: Placement, calibration: TrainingCalibration
) -> tuple[Explanation, ...]:
    """How the figures of *found* came about, line by line; lines from which nothing comes are left out."""
    gradients = _gradients(tried)
    lines = [
        *_weights(tried),
        *([] if tried.top.moment is Moment.STEP else gathered_lines(tried.job, tried.mesh, tried.fullest.held)),
        *gradients,
        *_optimizer(tried, found),
        *activation_lines(tried, calibration),
        *buffer_lines(tried),
        *overhead_lines(tried, found, calibration),
        _line(
            Rule.BUDGET_FREE,
            found.budget_bytes,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=placement.occupied_bytes,
        ),
    ]
    return tuple([each for each in lines if each.result_bytes])


def _line(rule: Rule, result_bytes: float, **numbers: Scalar) -> Explanation:
    return line(rule, result_bytes, numbers, _SOURCES[rule])


def _sharing(mesh: Mesh, shards: int) -> dict[str, Scalar]:
    """Over how many ranks a parameter is divided, and over how many an expert's."""
    return {"shards": shards, "expert_shards": max(1.0, shards * mesh.tensor / mesh.expert_ranks)}


def _weights(tried: Tried) -> list[Explanation]:
    job, mesh, on = tried.job, tried.mesh, tried.fullest.held
    shared = _sharing(mesh, mesh.weight_shards)
    if job.full:
        each = job.recipe.weight
        size = each * mesh.sharded(on.elements, on.experts, mesh.weight_shards)
        numbers: dict[str, Scalar] = {"bytes_each": each, "elements": on.elements, "expert_elements": on.experts}
        lines = [_line(Rule.TRAINED_WEIGHTS, size, **numbers, **shared)]
    else:
        frozen = mesh.sharded(on.bytes, on.experts_bytes, mesh.weight_shards)
        each, elements = adapter_bytes(job), adapter_elements(job, mesh)
        added = each * elements / mesh.weight_shards
        numbers = {"stored_bytes": on.bytes, "expert_bytes": on.experts_bytes}
        lines = [
            _line(Rule.FROZEN_WEIGHTS, frozen, **numbers, **shared),
            _line(Rule.ADAPTER_WEIGHTS, added, bytes_each=each, elements=elements, shards=mesh.weight_shards),
        ]
    offloaded = sum(each.result_bytes for each in lines) - round(tried.fullest.states.weights)
    if offloaded > len(lines):
        lines.append(_line(Rule.OFFLOADED, -offloaded, offloaded_bytes=offloaded))
    return lines


def _gradients(tried: Tried) -> list[Explanation]:
    """At the step all that were made; before it those that wait for the step of several micro-batches."""
    states, whole = tried.fullest.states, tried.fullest.gathers.accumulated
    waiting = _whole(tried) if whole else []
    if tried.top.moment is Moment.STEP:
        return waiting if whole > states.gradients else _made(tried, states.gradients)
    return (_made(tried, states.held_gradients) if states.held_gradients else []) + waiting


def _made(tried: Tried, size: float) -> list[Explanation]:
    job, mesh, on = tried.job, tried.mesh, tried.fullest.held
    if not size:
        return []
    each, shards = gradient_bytes(job), mesh.gradient_shards
    times = 2 if mesh.sharding is Sharding.DDP else 1
    largest, own = largest_gradient(job, mesh, on), job.recipe.gradient
    if job.workload.optimizer_in_backward and size == times * largest * own / shards:
        numbers: dict[str, Scalar] = {"times": times, "bytes_each": own, "elements": largest, "shards": shards}
        return [_line(Rule.LARGEST_GRADIENT, size, **numbers)]
    trained, experts = _trained(job, mesh, tried)
    numbers = {"times": times, "bytes_each": each, "elements": trained, "expert_elements": experts}
    return [_line(Rule.GRADIENTS, size, **numbers, **_sharing(mesh, shards))]


def _trained(job: TrainingJob, mesh: Mesh, tried: Tried) -> tuple[float, float]:
    """Trained elements on the rank before sharding, and how many of them are experts."""
    on = tried.fullest.held
    return (on.elements, on.experts) if job.full else (adapter_elements(job, mesh), 0.0)


def _whole(tried: Tried) -> list[Explanation]:
    each, on = tried.job.behaviour.reduce_bytes, tried.fullest.held
    return [_line(Rule.WHOLE_GRADIENTS, each * on.elements, bytes_each=each, elements=on.elements)]


def _optimizer(tried: Tried, found: TrainingPlacement) -> list[Explanation]:
    job, mesh, size = tried.job, tried.mesh, tried.fullest.states.optimizer
    trained, experts = _trained(job, mesh, tried)
    each = optimizer_bytes(job, tried.fullest.held)
    numbers: dict[str, Scalar] = {"bytes_each": each, "elements": trained, "expert_elements": experts}
    lines = [_line(Rule.OPTIMIZER_STATES, size, **numbers, **_sharing(mesh, mesh.optimizer_shards))]
    paged = round(size) - found.per_gpu.optimizer_bytes
    return lines + ([_line(Rule.PAGED_OUT, -paged, paged_bytes=paged)] if paged else []) if size else []
