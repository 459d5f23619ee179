"""The reckoning of a pipeline at its peak: components on the GPU, the phase's activations, and the process."""

from __future__ import annotations

from cardmatch.engine.memory.diffusion.answer import DiffusionPlacement
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.diffusion.curves import Curve, PhaseName, activations, frames_of
from cardmatch.engine.memory.diffusion.formats import FIXED
from cardmatch.engine.memory.diffusion.job import DiffusionJob, Part
from cardmatch.engine.memory.diffusion.phases import running
from cardmatch.engine.memory.diffusion.placed import Tried
from cardmatch.engine.memory.diffusion.steps import ADAPTER_BYTES, denoiser, states
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.memory.explain.explanation import Explanation, FittedOn, Rule, Source
from cardmatch.engine.memory.explain.lines import line
from cardmatch.engine.memory.explain.training_moments import measured
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.calibration import Fit
from cardmatch.engine.models.diffusion.component import Autoencoder, Transformer
from cardmatch.engine.terms.notice import Scalar

_VERSION = "0.40"


def _diffusers(file: str) -> Source:
    return Source(engine="diffusers", version=_VERSION, file=f"src/diffusers/{file}")


_ALLOCATOR = Source(engine="pytorch", version="2.13", file="c10/cuda/CUDACachingAllocator.cpp")
_COMPONENTS = _diffusers("pipelines/pipeline_utils.py")
_SOURCES = {
    Rule.COMPONENT: _COMPONENTS,
    Rule.COMPONENT_MATRIX: _COMPONENTS,
    Rule.COMPONENT_BLOCKS: _diffusers("hooks/group_offloading.py"),
    Rule.TEXT_ENCODING: _COMPONENTS,
    Rule.DENOISING: _diffusers("models/attention_processor.py"),
    Rule.DECODING: _diffusers("models/autoencoders/vae.py"),
    Rule.TRAINING_PASS: Source(engine="paper", version="arXiv 2205.05198", file="section 4"),
    Rule.TRAINED_WEIGHTS: _diffusers("training_utils.py"),
    Rule.AUTOCAST_COPIES: Source(engine="pytorch", version="2.13", file="aten/src/ATen/autocast_mode.cpp"),
    Rule.ADAPTER_WEIGHTS: _diffusers("loaders/peft.py"),
    Rule.OPTIMIZER_STATES: Source(engine="pytorch", version="2.13", file="torch/optim/adamw.py"),
    Rule.GRADIENTS: Source(engine="pytorch", version="2.13", file="torch/csrc/autograd/functions/accumulate_grad.h"),
    Rule.UNREUSED_SHARE: _ALLOCATOR,
    Rule.SLACK_LEFT: _ALLOCATOR,
    Rule.CONTEXT: _ALLOCATOR,
    Rule.BUDGET_FREE: _ALLOCATOR,
}
_ALONE: dict[str, Scalar] = {"expert_elements": 0, "shards": 1, "expert_shards": 1}


def _line(rule: Rule, result_bytes: float, fitted: FittedOn | None = None, /, **numbers: Scalar) -> Explanation:
    return line(rule, result_bytes, numbers, _SOURCES[rule], fitted)


def explain_diffusion(
    tried: Tried, found: DiffusionPlacement, placement: Placement, calibration: DiffusionCalibration
) -> tuple[Explanation, ...]:
    """How the figures of *found* came about, line by line; lines from which nothing comes are left out."""
    job, curve = tried.job, tried.top.curve
    lines = [
        *(_components(job, curve) if job.trained is None else _trained(job, curve)),
        _activations(tried, calibration),
        *_overhead(tried, found, calibration),
        _line(
            Rule.BUDGET_FREE,
            found.budget_bytes,
            memory_bytes=placement.device.memory_bytes,
            occupied_bytes=placement.occupied_bytes,
        ),
    ]
    return tuple([each for each in lines if each.result_bytes])


def _component(part: Part) -> Explanation:
    elements = part.component.parameters
    each = part.bytes / max(elements, 1)
    return _line(Rule.COMPONENT, part.bytes, component=part.name, elements=elements, bytes_each=each)


def _components(job: DiffusionJob, curve: Curve) -> list[Explanation]:
    """Whole components; of one that waits in host memory what is on the GPU while it runs."""
    if job.offload is ComponentOffload.NONE:
        return [_component(part) for part in job.parts]
    part = running(job, curve)
    stuck = [_component(other) for other in job.parts if other.format in FIXED and other is not part]
    if part.format in FIXED or job.offload is ComponentOffload.MODEL:
        return [*stuck, _component(part)]
    on, each = part.component, part.bytes / max(part.component.parameters, 1)
    if job.offload is ComponentOffload.SEQUENTIAL:
        matrix = on.matrix_parameters or on.parameters
        numbers: dict[str, Scalar] = {"component": part.name, "matrix_elements": matrix, "bytes_each": each}
        return [*stuck, _line(Rule.COMPONENT_MATRIX, each * matrix, **numbers)]
    block = on.block_parameters or on.parameters
    numbers = {"component": part.name, "elements": on.parameters, "block_elements": block, "bytes_each": each}
    return [*stuck, _line(Rule.COMPONENT_BLOCKS, each * min(on.parameters, 2 * block), **numbers)]


def _trained(job: DiffusionJob, curve: Curve) -> list[Explanation]:
    """Frozen components, the denoiser with what is trained of it, and its gradients."""
    how, part = job.trained, denoiser(job)
    if how is None:
        return []
    held, recipe = states(job, how), how.recipe
    lines = [_component(other) for other in job.parts if other is not part]
    each: float = recipe.gradient
    if how.rank:
        each, added = ADAPTER_BYTES, held.trainable
        lines.append(_component(part))
        lines.append(_line(Rule.ADAPTER_WEIGHTS, each * added, bytes_each=each, elements=added, shards=1))
    else:
        count = part.component.parameters
        numbers: dict[str, Scalar] = {"bytes_each": recipe.weight, "elements": count}
        lines.append(_line(Rule.TRAINED_WEIGHTS, recipe.weight * count, **numbers, **_ALONE))
        if recipe.autocast:
            lines.append(_line(Rule.AUTOCAST_COPIES, 2 * count, bytes_each=2, elements=count))
    per_parameter = held.optimizer / max(held.trainable, 1)
    numbers = {"bytes_each": per_parameter, "elements": held.trainable}
    lines.append(_line(Rule.OPTIMIZER_STATES, held.optimizer, **numbers, **_ALONE))
    times = curve.states / held.gradients if held.gradients else 0
    numbers = {"times": times, "bytes_each": each, "elements": held.trainable}
    lines.append(_line(Rule.GRADIENTS, curve.states, **numbers, **_ALONE))
    return lines


_OF_PHASE = {
    PhaseName.TEXT_ENCODE: Rule.TEXT_ENCODING,
    PhaseName.DENOISE: Rule.DENOISING,
    PhaseName.DECODE: Rule.DECODING,
    PhaseName.TRAIN_STEP: Rule.TRAINING_PASS,
    PhaseName.OPTIMIZER_STEP: Rule.TRAINING_PASS,
}


def _activations(tried: Tried, calibration: DiffusionCalibration) -> Explanation:
    job, curve, size = tried.job, tried.top.curve, tried.job.size
    pixels = size.pixels if curve.cap_pixels is None else min(size.pixels, curve.cap_pixels)
    numbers: dict[str, Scalar] = {
        "fixed_bytes": curve.fixed,
        "pictures": 1 if curve.alone else size.batch,
        "picture_bytes": curve.each,
        "cells": pixels * frames_of(curve, size.frames),
        "cell_bytes": curve.linear,
        "pair_bytes": curve.square,
        "finished_bytes": curve.output * size.batch * size.pixels * size.frames,
    }
    live = activations(curve, size.batch, size.pixels, size.frames)
    fit = _fit(job, curve, calibration)
    fitted = None if fit is None else measured(fit, calibration.as_of)
    return _line(_OF_PHASE[curve.phase], live, fitted, **numbers)


def _fit(job: DiffusionJob, curve: Curve, calibration: DiffusionCalibration) -> Fit | None:
    """The constant in the growth of a phase."""
    if job.trained is not None or curve.phase is PhaseName.TEXT_ENCODE:
        return None
    on = running(job, curve).component
    if isinstance(on, Autoencoder):
        return calibration.video_decode_copies if on.temporal > 1 else calibration.decode_copies
    return calibration.transformer_copies if isinstance(on, Transformer) else calibration.unet_copies


def _overhead(tried: Tried, found: DiffusionPlacement, calibration: DiffusionCalibration) -> list[Explanation]:
    share, context = calibration.unreused_share, calibration.context_bytes
    outside = _line(Rule.CONTEXT, context.value, measured(context, calibration.as_of), context_bytes=context.value)
    if found.per_gpu.total.expected_bytes < tried.process.expected_bytes:
        left = found.per_gpu.overhead_bytes - round(context.value)
        return [
            _line(Rule.SLACK_LEFT, left, budget_bytes=found.budget_bytes, needed_bytes=found.budget_bytes - left),
            outside,
        ]
    above = tried.top.activations
    numbers = {"unreused_share": share.value, "activations_bytes": above}
    slack = _line(Rule.UNREUSED_SHARE, share.value * above, measured(share, calibration.as_of), **numbers)
    return [slack, outside]
