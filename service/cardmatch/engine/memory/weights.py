"""Bytes of weights on each GPU of a layout."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.models.linears import PartKind, Split
from cardmatch.engine.models.parts import Part, Stage


class StageWeights(msgspec.Struct, frozen=True):
    """Bytes on each GPU of one pipeline stage, and how many layers of each group the stage holds."""

    weights_bytes: int
    layers: tuple[int, ...]


def stage_sizes(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per stage. A remainder goes to the stages before the last, from the back.

    Source: vllm v0.33.0 distributed/utils.py, get_pp_indices.
    """
    sizes = [layers // stages] * stages
    for position in range(2, layers % stages + 2):
        sizes[-position] += 1
    return tuple(sizes)


def stage_layers(layer_order: Sequence[int], groups: int, stages: int) -> tuple[tuple[int, ...], ...]:
    """For each stage, the number of layers of each group."""
    counts, start = [], 0
    for size in stage_sizes(len(layer_order), stages):
        stage = [0] * groups
        for group in layer_order[start : start + size]:
            stage[group] += 1
        counts.append(tuple(stage))
        start += size
    return tuple(counts)


def rank_bytes(part: Part, layout: Layout) -> int:
    """Bytes of *part* on one tensor rank that holds it all: experts go by expert ranks where there are several."""
    if part.kind is PartKind.EXPERTS and layout.expert > 1:
        return -(-part.bytes // layout.expert)
    if part.split is Split.REPLICATED or layout.tensor == 1:
        return part.bytes
    if part.split is Split.KV_HEADS:
        return part.bytes * max(1, part.kv_heads // layout.tensor) // part.kv_heads
    return -(-part.bytes // layout.tensor)


def weights_by_stage(
    parts: tuple[Part, ...], layer_order: Sequence[int], groups: int, layout: Layout, *, tied: bool
) -> tuple[StageWeights, ...]:
    """Bytes on each GPU of every pipeline stage. A tied embedding is held by the last stage again, as the head."""
    layers_of = [max(1, layer_order.count(group)) for group in range(groups)]
    stages = stage_layers(layer_order, groups, layout.pipeline)
    sums = [0] * len(stages)
    for part in parts:
        size = rank_bytes(part, layout)
        if part.stage is Stage.LAYERS and part.group is not None:
            for index, stage in enumerate(stages):
                sums[index] += size * stage[part.group] // layers_of[part.group]
            continue
        sums[0 if part.stage is Stage.FIRST else -1] += size
        if tied and part.kind is PartKind.EMBEDDING and len(stages) > 1:
            sums[-1] += size
    return tuple(StageWeights(size, stage) for size, stage in zip(sums, stages, strict=True))
