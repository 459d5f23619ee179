"""The parameters that lie on one rank of a mesh: its pipeline stage's share of layers, embedding and head."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.models.linears import PartKind, Split, linears
from cardmatch.engine.models.parts import Part, Stage

_WIDE_WHEN_UPCAST = frozenset({PartKind.EMBEDDING, PartKind.HEAD, PartKind.SMALL, PartKind.ROUTER})


class Held(NamedTuple):
    """Elements and stored bytes on one rank before data-parallel sharding.

    `trunk` are the layers, of which `experts` lie on their expert-parallel ranks, `root` what stands outside the layers
    (FSDP's root unit), `table` the embedding's elements alone. `layer` is the largest layer's share of the trunk.
    """

    trunk: float = 0
    trunk_bytes: float = 0
    root: float = 0
    root_bytes: float = 0
    table: float = 0
    layer: float = 0
    layer_bytes: float = 0
    experts: float = 0
    experts_bytes: float = 0

    @property
    def elements(self) -> float:
        """All elements."""
        return self.trunk + self.root

    @property
    def bytes(self) -> float:
        """All bytes, as stored."""
        return self.trunk_bytes + self.root_bytes


def held(job: TrainingJob, mesh: Mesh, *, first: bool, last: bool) -> Held:
    """What the first, the last or a middle stage of *mesh* holds; a single stage is both first and last."""
    trunk = trunk_bytes = root = root_bytes = table = experts = experts_bytes = 0.0
    layer: dict[int, tuple[float, float]] = {}
    for part in job.parts:
        elements, stored = _on_rank(job, part, mesh)
        if part.stage is Stage.LAYERS:
            trunk += elements / mesh.pipeline
            trunk_bytes += stored / mesh.pipeline
            if part.kind is PartKind.EXPERTS:
                experts += elements / mesh.pipeline
                experts_bytes += stored / mesh.pipeline
            group = part.group or 0
            one, one_bytes = layer.get(group, (0.0, 0.0))
            layer[group] = one + elements / part.layers, one_bytes + stored / part.layers
        elif _on_stage(job, part, first=first, last=last):
            root += elements
            root_bytes += stored
            if part.kind in {PartKind.EMBEDDING, PartKind.PER_LAYER_EMBEDDING}:
                table += elements
    largest = max(layer.values(), default=(0.0, 0.0))
    return Held(trunk, trunk_bytes, root, root_bytes, table, *largest, experts, experts_bytes)


def _on_stage(job: TrainingJob, part: Part, *, first: bool, last: bool) -> bool:
    if part.stage is Stage.FIRST:
        tied = part.kind is PartKind.EMBEDDING and job.architecture.tied_embeddings
        return first or (tied and last)
    return last


def _on_rank(job: TrainingJob, part: Part, mesh: Mesh) -> tuple[float, float]:
    """Elements and bytes of *part* after tensor and expert parallelism; small ones are copied to every rank."""
    ranks = mesh.tensor
    if part.split is Split.REPLICATED:
        ranks = 1
    elif part.split is Split.KV_HEADS:
        ranks = min(mesh.tensor, part.kv_heads)
    if part.kind is PartKind.EXPERTS:
        ranks = mesh.expert_ranks
    stored = part.elements * 4 if job.upcast and part.kind in _WIDE_WHEN_UPCAST else part.bytes
    return part.elements / ranks, stored / ranks


def largest_matrix(job: TrainingJob) -> int:
    """Elements of the largest matrix of a layer: a quantised one is unpacked as a whole to multiply by it."""
    return max(
        (
            linear.inputs * linear.outputs
            for group in job.architecture.layer_groups
            for block in group.blocks
            for linear in linears(block, job.architecture.hidden_size)
        ),
        default=0,
    )
