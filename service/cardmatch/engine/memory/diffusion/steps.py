"""The phases of training a denoiser: the forward and backward pass, and the optimizer's step."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.diffusion.curves import Curve, PhaseName
from cardmatch.engine.memory.diffusion.job import DiffusionJob, Part, Trained
from cardmatch.engine.memory.diffusion.phases import SCORES, cell, temporal
from cardmatch.engine.memory.training.recipes import state_bytes
from cardmatch.engine.models.diffusion.component import Transformer, UNet

KEPT = 17
"""Hidden states that autograd keeps of a block: 34 bytes a value in 16 bits (arXiv 2205.05198, flash attention)."""
RESNET_KEPT, CROSSED_KEPT = 8, 30
"""The same of a residual block, and of a UNet's transformer block with gated feed-forward of eight times the width."""
ADAPTED = 8
"""Matrices of a block that diffusers' LoRA scripts adapt: queries, keys, values, output, of both attentions."""
ADAPTER_BYTES = 4


class States(NamedTuple):
    """Bytes of a training run whatever the size of its samples."""

    weights: float
    gradients: float
    optimizer: float
    trainable: int


def denoiser(job: DiffusionJob) -> Part:
    """The component that is trained: the first denoiser."""
    return next(part for part in job.parts if isinstance(part.component, UNet | Transformer))


def adapters(on: UNet | Transformer, rank: int) -> int:
    """Parameters of LoRA adapters on every attention: rank × (inputs + outputs) a matrix."""
    if isinstance(on, Transformer):
        return on.layers * ADAPTED * 2 * rank * on.width
    levels = zip(on.channels, on.depths or (0,) * len(on.channels), on.heads or (0,) * len(on.channels), strict=False)
    return sum((2 * on.resnets + 1) * depth * ADAPTED * 2 * rank * wide for wide, depth, heads in levels if heads)


def states(job: DiffusionJob, how: Trained) -> States:
    """Weights, gradients and optimizer states; other components lie there frozen unless they were used up before."""
    part = denoiser(job)
    on = part.component
    frozen = float(sum(other.bytes for other in job.parts if other is not part))
    if how.rank:
        added = adapters(on, how.rank) if isinstance(on, UNet | Transformer) else 0
        optimizer = state_bytes(how.optimizer, ADAPTER_BYTES, added, 0)
        weights = frozen + part.bytes + ADAPTER_BYTES * added
        return States(weights, ADAPTER_BYTES * added, 0.0 if how.optimizer.paged else optimizer, added)
    count, recipe = on.parameters, how.recipe
    optimizer = state_bytes(how.optimizer, recipe.state, count, 0) + recipe.master * count
    copies = 2 * count if recipe.autocast else 0  # autocast caches a 16-bit copy of the weights
    return States(frozen + recipe.weight * count + copies, recipe.gradient * count, optimizer, count)


def steps(job: DiffusionJob, how: Trained) -> tuple[Curve, ...]:
    """The pass over a batch, and the optimizer's step."""
    held, part = states(job, how), denoiser(job)
    on = part.component
    resident = held.weights + held.optimizer
    # Full training has the gradients of finished blocks beside the activations of those to come.
    during = held.gradients if how.rank else held.gradients / 2
    if isinstance(on, Transformer):
        curve = _transformer(job, on, part.compute, how)
    elif isinstance(on, UNet):
        curve = _unet(job, on, part.compute, how)
    else:
        raise TypeError(part.name)
    step = Curve(PhaseName.OPTIMIZER_STEP, resident, states=held.gradients)
    return curve._replace(resident=resident, states=during), step


def _transformer(job: DiffusionJob, on: Transformer, compute: int, how: Trained) -> Curve:
    # Checkpointing keeps each block's input, and recomputes one block while its gradients are made.
    kept = on.layers + 2 * KEPT if how.checkpointing else on.layers * KEPT
    state = on.width * compute * kept
    patch = (cell(job, None) * on.patch) ** 2
    layers = 1 if how.checkpointing else on.layers
    scores = SCORES * on.heads * compute * layers if job.eager else 0.0
    return Curve(
        PhaseName.TRAIN_STEP,
        0.0,
        each=on.text_tokens * state,
        linear=state / patch,
        square=scores / patch**2,
        temporal=temporal(job),
    )


def _unet(job: DiffusionJob, on: UNet, compute: int, how: Trained) -> Curve:
    area = cell(job, on.compression) ** 2
    kept = live = 0.0
    for level, wide in enumerate(on.channels):
        values = wide / 4**level
        blocks = 2 * on.resnets + 1
        crossed = blocks * (on.depths[level] if level < len(on.depths) else 0) * bool(on.heads and on.heads[level])
        if how.checkpointing:
            kept += values * (blocks + crossed)
            live = max(live, values * CROSSED_KEPT)
        else:
            kept += values * (blocks * RESNET_KEPT + crossed * CROSSED_KEPT)
    scores = max((heads / 16**level for level, heads in enumerate(on.heads)), default=0.0)
    return Curve(
        PhaseName.TRAIN_STEP,
        0.0,
        linear=(kept + live) * compute / area,
        square=SCORES * scores * compute / area**2 if job.eager else 0.0,
    )
