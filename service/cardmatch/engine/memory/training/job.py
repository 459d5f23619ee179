"""A training job with every default filled in."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.job import Spread
from cardmatch.engine.memory.training.adapters import Adapters
from cardmatch.engine.memory.training.frameworks import Behaviour, CrossEntropy
from cardmatch.engine.memory.training.recipes import Optimizer, Precision, Recipe
from cardmatch.engine.memory.training.style import Saved, Style
from cardmatch.engine.memory.training.workload import AttentionKernel, Checkpointing, Offload, Sharding, Training
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.parts import Part


class TrainingJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a framework trains, on no card in particular.

    `published` is the checkpoint that was asked about, `parts` are its weights as they are held in memory. `layers`
    says per layer group how many there are and what autograd keeps of a token in one. `default_sharding` is for several
    GPUs. `eager` layers run op by op; adapters and quantisation reach `experts`. A bare size stands for models that
    `spread`.
    """

    workload: Training
    architecture: Architecture
    published: Checkpoint
    checkpoint: Checkpoint
    parts: tuple[Part, ...]
    behaviour: Behaviour
    recipe: Recipe
    optimizer: Optimizer
    adapters: Adapters
    layers: tuple[tuple[int, Saved], ...]
    style: Style
    precision: Precision
    attention: AttentionKernel
    checkpointing: Checkpointing
    cross_entropy: CrossEntropy
    eager: bool
    sequence_tokens: int
    micro_batch: int
    accumulation: int
    upcast: bool
    quantised: bool
    experts: bool
    default_sharding: Sharding
    offload: frozenset[Offload]
    spread: Spread | None = None

    @property
    def full(self) -> bool:
        """Whether every weight is trained."""
        return not self.adapters.roles

    @property
    def least_bytes(self) -> int:
        """The weights of one copy, in the bytes that they are held in; trained ones with the optimizer's own copy."""
        if not self.full:
            return sum([part.bytes for part in self.parts])
        return (self.recipe.weight + self.recipe.master) * sum([part.elements for part in self.parts])

    @property
    def varying(self) -> bool:
        """Whether sequences differ in length, so that the allocator meets ever new sizes."""
        return self.workload.packing is False
