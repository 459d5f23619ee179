"""From a request to a job: defaults filled in, each told as an assumption."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.diffusion.checks import check
from cardmatch.engine.memory.diffusion.formats import ABSENT, BYTES, weight_bytes
from cardmatch.engine.memory.diffusion.job import DiffusionJob, Part, Size, Trained
from cardmatch.engine.memory.diffusion.workload import Diffusion, Task
from cardmatch.engine.memory.training.recipes import OPTIMIZERS, RECIPES, OptimizerName, Precision
from cardmatch.engine.memory.training.workload import AttentionKernel
from cardmatch.engine.models.diffusion.component import (
    Autoencoder,
    Guidance,
    Named,
    Pipeline,
    Transformer,
    UNet,
)
from cardmatch.engine.terms.notice import Assumption, Scalar

DEFAULT_RANK = 16


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """A job and what was assumed for it."""

    job: DiffusionJob
    assumptions: tuple[Assumption, ...]


def settle(workload: Diffusion, pipeline: Pipeline) -> Settled:
    """The job that *workload* means. Raises Invalid with pointers into the request."""
    check(workload, pipeline)
    precision = workload.precision or _precision(workload, pipeline)
    training = workload.task is not Task.INFERENCE
    cached = training and workload.cache_latents is not False
    job = DiffusionJob(
        workload=workload,
        pipeline=pipeline,
        parts=tuple([_part(named, workload, precision, cached=cached) for named in pipeline.components]),
        size=Size(
            workload.batch or 1,
            workload.width_pixels or pipeline.width_pixels,
            workload.height_pixels or pipeline.height_pixels,
            workload.frames or pipeline.frames,
        ),
        precision=precision,
        doubled=not training and pipeline.guidance is Guidance.BATCHED and workload.guidance is not False,
        eager=workload.attention is AttentionKernel.EAGER,
        trained=_trained(workload, precision) if training else None,
    )
    return Settled(job=job, assumptions=_assumptions(job, precision))


def _precision(workload: Diffusion, pipeline: Pipeline) -> Precision:
    return Precision.MIXED_BF16 if workload.task is Task.FULL else Precision(pipeline.precision)


def _part(named: Named, workload: Diffusion, precision: Precision, *, cached: bool) -> Part:
    component = named.component
    own = RECIPES[precision].compute
    plain = precision.value if precision.value in BYTES else "bf16"
    name = workload.formats.get(named.name)
    if name is None:
        name = plain
        if isinstance(component, Autoencoder) and component.upcast and plain == "fp16":
            name, own = "fp32", BYTES["fp32"]
        if cached and not isinstance(component, UNet | Transformer):
            name = ABSENT
    elif isinstance(component, Autoencoder):
        own = BYTES.get(name, own)
    return Part(named.name, component, name, weight_bytes(component, name), own, named.basis)


def _trained(workload: Diffusion, precision: Precision) -> Trained:
    return Trained(
        recipe=RECIPES[precision],
        optimizer=OPTIMIZERS[workload.optimizer or OptimizerName.ADAMW],
        rank=(workload.lora_rank or DEFAULT_RANK) if workload.task is Task.LORA else 0,
        checkpointing=workload.gradient_checkpointing is not False,
    )


def _assumptions(job: DiffusionJob, precision: Precision) -> tuple[Assumption, ...]:
    """Defaults that were filled in for fields of the request."""
    asked, size = job.workload, job.size
    filled: dict[str, Scalar] = {
        "width_pixels": size.width,
        "height_pixels": size.height,
        "batch": size.batch,
        "precision": precision.value,
        "attention": AttentionKernel.SDPA.value,
    }
    if size.frames > 1:
        filled["frames"] = size.frames
    if job.doubled:
        filled["guidance"] = True
    if job.trained is not None:
        filled["optimizer"] = (asked.optimizer or OptimizerName.ADAMW).value
        filled["gradient_checkpointing"] = job.trained.checkpointing
        filled["cache_latents"] = True
        if job.trained.rank:
            filled["lora_rank"] = job.trained.rank
    return tuple(
        Assumption(pointer=f"/workload/{name}", value=value)
        for name, value in filled.items()
        if getattr(asked, name) is None
    )
