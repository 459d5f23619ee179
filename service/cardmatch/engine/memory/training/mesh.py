"""How a training job is spread over GPUs: ranks of each kind, and how many share one copy of what is sharded."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.workload import Sharding, Training
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid, refusal

GPUS_PER_MACHINE = 8
"""The shard group of HSDP where the request names none: one machine's GPUs."""


class Mesh(NamedTuple):
    """Ranks. `shards` is over how many ranks fully sharded states are divided; `data` counts context ranks too."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    context: int = 1
    data: int = 1
    sharding: Sharding = Sharding.NONE
    shards: int = 1

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return self.tensor * self.pipeline * self.data

    @property
    def expert_ranks(self) -> int:
        """Over how many GPUs the experts lie before any sharding: the expert-parallel ranks, else the tensor ones."""
        return max(self.tensor, self.expert)

    def sharded(self, whole: float, experts: float, shards: int) -> float:
        """What is left on a rank of *whole*, of which *experts* have fewer copies to be sharded over.

        Expert-parallel ranks are taken from the data-parallel ones, so an expert's copies are that many times fewer
        (Megatron-LM: the expert data-parallel group).
        """
        copies = max(1.0, shards * self.tensor / self.expert_ranks)
        return (whole - experts) / shards + experts / copies

    @property
    def weight_shards(self) -> int:
        """Over how many ranks the weights are divided."""
        return self.shards if self.sharding in _WEIGHTS_SHARDED else 1

    @property
    def gradient_shards(self) -> int:
        """Over how many ranks the gradients are divided."""
        return self.shards if self.sharding in _WEIGHTS_SHARDED | {Sharding.ZERO2} else 1

    @property
    def optimizer_shards(self) -> int:
        """Over how many ranks the optimizer's states and master weights are divided."""
        return 1 if self.sharding in {Sharding.NONE, Sharding.DDP} else self.shards


_WEIGHTS_SHARDED = frozenset({Sharding.ZERO3, Sharding.FSDP, Sharding.HSDP})


def mesh(workload: Training, default: Sharding, placement: Placement) -> Mesh:
    """The mesh of *workload* on *placement*: what tensor and pipeline ranks leave is data parallel.

    Raises Invalid where one card is to be sharded or context ranks or shard groups do not divide the data ranks.
    """
    layout = placement.layout
    tensor, pipeline = layout.tensor, layout.pipeline
    data = max(1, placement.count // (tensor * pipeline))
    context = workload.context_parallel
    if data % context:
        pointer = "/workload/context_parallel"
        raise refusal(FaultCode.NOT_DIVISIBLE, pointer, value=data, divisor=context, other=pointer)
    sharding = workload.sharding or (default if data > 1 else Sharding.NONE)
    if data == 1:
        if workload.sharding not in {None, Sharding.NONE} and placement.count == 1:
            raise Invalid(
                Fault(
                    code=FaultCode.SHARDING_ON_ONE_CARD,
                    pointer="/workload/sharding",
                    params={"sharding": sharding.value},
                    suggestions=("none",),
                )
            )
        sharding = Sharding.NONE
    elif sharding is Sharding.NONE:
        sharding = Sharding.DDP
    group = _group(workload, data) if sharding is Sharding.HSDP else data
    return Mesh(tensor, pipeline, min(layout.expert, placement.count), context, data, sharding, group)


def _group(workload: Training, data: int) -> int:
    """GPUs that share one copy of the weights; unless the request says, as many of a machine's as divide all of them.

    Raises Invalid where the groups do not come out even.
    """
    group = workload.shard_group
    if group is None:
        return next(each for each in range(min(GPUS_PER_MACHINE, data), 0, -1) if data % each == 0)
    if data % group:
        raise refusal(
            FaultCode.NOT_DIVISIBLE, "/workload/shard_group", value=data, divisor=group, other="/workload/shard_group"
        )
    return group


def stage_layers(architecture: Architecture, pipeline: int) -> int:
    """Layers of the fullest pipeline stage."""
    return -(-len(architecture.layer_order) // pipeline)
