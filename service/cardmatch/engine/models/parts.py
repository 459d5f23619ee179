"""The weights of a model piece by piece, so that any layout over GPUs can be summed."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cardmatch.engine.models.architecture import Architecture, Attention, CrossAttention, Experts, LayerGroup
from cardmatch.engine.models.checkpoint import Checkpoint, bits_per_weight
from cardmatch.engine.models.linears import PartKind, Split, linears
from cardmatch.engine.models.parameters import (
    embedding_parameters,
    head_parameters,
    layer_counts,
    next_token_parameters,
)


class Stage(StrEnum):
    """Which pipeline stages hold a part: the first, the last, or those that hold its layer group."""

    FIRST = "first"
    LAYERS = "layers"
    LAST = "last"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of one kind that one layout rule covers; *elements* and *bytes* are those of all its *layers* together.

    For `split: kv_heads` tensor parallelism divides by at most *kv_heads*. Embedding, head and encoder are sharded by
    vocabulary or width; a tied embedding appears once, as `embedding`.
    """

    kind: PartKind
    stage: Stage
    elements: int
    bytes: int
    split: Split
    layers: int = 1
    group: int | None = None
    kv_heads: int = 1


def parts(architecture: Architecture, checkpoint: Checkpoint) -> tuple[Part, ...]:
    """Everything that a checkpoint of *architecture* holds, MTP layers included (kind `mtp`)."""
    bits = {kind: bits_per_weight(checkpoint, kind) for kind in PartKind}
    found: list[Part] = []

    def add(kind: PartKind, stage: Stage, elements: int, split: Split = Split.SHARDED, **more: int) -> None:
        if elements:
            size = round(elements * bits[kind] / 8)
            found.append(Part(kind=kind, stage=stage, elements=elements, bytes=size, split=split, **more))

    per_layer = architecture.per_layer_embedding_parameters
    add(PartKind.EMBEDDING, Stage.FIRST, embedding_parameters(architecture) - per_layer)
    add(PartKind.PER_LAYER_EMBEDDING, Stage.FIRST, per_layer, Split.REPLICATED)
    add(PartKind.TOWER, Stage.FIRST, sum(tower.parameters for tower in architecture.towers))
    if architecture.encoder:
        encoder = architecture.encoder
        for (kind, split, heads), elements in _layer(encoder.layer, encoder.hidden_size).items():
            add(kind, Stage.FIRST, elements * encoder.layers, split, kv_heads=heads)
        add(PartKind.SMALL, Stage.FIRST, encoder.small_parameters, Split.REPLICATED)
    for index, layers in enumerate(layer_counts(architecture)):
        group = architecture.layer_groups[index]
        for (kind, split, heads), elements in _layer(group, architecture.hidden_size).items():
            add(kind, Stage.LAYERS, elements * layers, split, layers=layers, group=index, kv_heads=heads)
    add(PartKind.SMALL, Stage.LAST, architecture.small_parameters, Split.REPLICATED)
    add(PartKind.HEAD, Stage.LAST, head_parameters(architecture))
    add(PartKind.MTP, Stage.LAST, next_token_parameters(architecture.next_token_layers, architecture.hidden_size))
    return tuple(found)


def _layer(group: LayerGroup, hidden_size: int) -> dict[tuple[PartKind, Split, int], int]:
    """Elements of one layer by kind, split and key-value heads."""
    sums: dict[tuple[PartKind, Split, int], int] = {}
    for block in group.blocks:
        heads = block.kv_heads if isinstance(block, Attention | CrossAttention) else 1
        for linear in linears(block, hidden_size):
            key = (linear.part, linear.split, heads if linear.split is Split.KV_HEADS else 1)
            sums[key] = sums.get(key, 0) + linear.parameters
        if isinstance(block, Experts):
            key = (PartKind.EXPERTS, Split.SHARDED, 1)
            sums[key] += group.expert_small_parameters * block.experts
    if group.small_parameters:
        sums[PartKind.SMALL, Split.REPLICATED, 1] = group.small_parameters
    return sums
