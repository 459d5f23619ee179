"""The fields of a training request with every default filled in, and which of them were assumed."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.frameworks import Behaviour, CrossEntropy, Kernels
from cardmatch.engine.memory.training.fused_experts import EXPERTS_IN_ONE_TENSOR
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.memory.training.workload import (
    AttentionKernel,
    Checkpointing,
    Lora,
    Method,
    Offload,
    Training,
)
from cardmatch.engine.terms.notice import Assumption, Scalar


class Choices(NamedTuple):
    """The request's fields with the framework's and the documented defaults filled in.

    `experts`: adapters and quantisation reach routed experts.
    """

    behaviour: Behaviour
    precision: Precision
    optimizer: OptimizerName
    sequence_tokens: int
    micro_batch: int
    accumulation: int
    checkpointing: Checkpointing
    attention: AttentionKernel
    kernels: Kernels
    cross_entropy: CrossEntropy
    lora: Lora | None
    weights: str
    upcast: bool
    experts: bool


def brings_kernel(workload: Training, behaviour: Behaviour) -> bool:
    """Whether fused kernels, turned on where the framework has none by itself, bring one for the loss along."""
    eager = behaviour.cross_entropy is CrossEntropy.EAGER
    return workload.kernels is Kernels.FUSED and behaviour.kernels is not Kernels.FUSED and eager


def assumed(job: TrainingJob, chosen: Choices) -> tuple[Assumption, ...]:
    """Every default that was filled in and bears on memory."""
    workload = job.workload
    filled: dict[str, Scalar] = {}
    for name in ("precision", "optimizer", "sequence_tokens", "micro_batch", "attention", "kernels"):
        if getattr(workload, name) is None:
            value = getattr(chosen, name)
            filled[name] = value if isinstance(value, int) else value.value
    if workload.gradient_checkpointing is None:
        filled["gradient_checkpointing"] = chosen.checkpointing.value
    if workload.fused_loss is None:
        kernel = brings_kernel(workload, chosen.behaviour)
        filled["fused_loss"] = not kernel and chosen.cross_entropy is not CrossEntropy.EAGER
    if workload.packing is None:
        filled["packing"] = True
    filled |= _of_optimizer(job)
    adapted = workload.method is not Method.FULL and job.quantised
    if workload.weights == "as_published" and (adapted or job.checkpoint.format != job.published.format):
        filled["weights"] = job.checkpoint.format
    filled |= _of_adapters(job, chosen)
    if not workload.offload and job.offload:
        filled["offload/0"] = Offload.ACTIVATIONS.value
    return tuple(Assumption(pointer=f"/workload/{name}", value=value) for name, value in filled.items())


def _of_adapters(job: TrainingJob, chosen: Choices) -> dict[str, Scalar]:
    """Where the adapters go, and what quantisation leaves alone."""
    workload, filled = job.workload, dict[str, Scalar]()
    if chosen.lora is None:
        return filled
    if workload.lora is None:
        filled["lora/rank"] = chosen.lora.rank
        filled["lora/targets"] = chosen.lora.targets[0]
    if workload.method is Method.QLORA and workload.upcast_embeddings is None:
        filled["upcast_embeddings"] = chosen.upcast
    fused = job.architecture.family in EXPERTS_IN_ONE_TENSOR
    if workload.fused_experts is None and fused and not chosen.behaviour.quantises_experts:
        filled["fused_experts"] = True
    return filled


def _of_optimizer(job: TrainingJob) -> dict[str, Scalar]:
    """Whether the step is fused, where that makes a difference, and accumulation, where the framework does so."""
    workload, filled = job.workload, dict[str, Scalar]()
    if workload.fused_optimizer is None and job.optimizer.temporary and not workload.optimizer_in_backward:
        filled["fused_optimizer"] = job.behaviour.fused_optimizer
    if workload.gradient_accumulation_steps is None and job.accumulation > 1:
        filled["gradient_accumulation_steps"] = job.accumulation
    return filled
