"""A diffusion job with every name resolved and every default filled in."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.diffusion.workload import ComponentOffload, Diffusion, Task
from cardmatch.engine.memory.training.recipes import Optimizer, Precision, Recipe
from cardmatch.engine.models.diffusion.component import Component, Pipeline
from cardmatch.engine.terms.band import Basis


class Part(NamedTuple):
    """A component as it lies in memory: its format, its bytes, and the bytes of one activation in it."""

    name: str
    component: Component
    format: str
    bytes: int
    compute: int
    basis: Basis


class Size(NamedTuple):
    """What is made at once."""

    batch: int
    width: int
    height: int
    frames: int

    @property
    def pixels(self) -> int:
        """Pixels of one frame."""
        return self.width * self.height


class Trained(NamedTuple):
    """How the denoiser is trained."""

    recipe: Recipe
    optimizer: Optimizer
    rank: int
    checkpointing: bool


class DiffusionJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a pipeline does, on no card in particular. *doubled* says that guidance takes twice the batch."""

    workload: Diffusion
    pipeline: Pipeline
    parts: tuple[Part, ...]
    size: Size
    precision: Precision
    doubled: bool
    eager: bool
    trained: Trained | None

    @property
    def offload(self) -> ComponentOffload:
        """Where components lie between their uses."""
        return self.workload.offload

    @property
    def inference(self) -> bool:
        """Whether images are made, not learned from."""
        return self.workload.task is Task.INFERENCE

    @property
    def basis(self) -> Basis:
        """How sure the components are."""
        guessed = any(part.basis is Basis.RULE_OF_THUMB and part.bytes for part in self.parts)
        return Basis.RULE_OF_THUMB if guessed else Basis.CALIBRATED
