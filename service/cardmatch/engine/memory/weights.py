"""Bytes of weights on each GPU of a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.models.linears import PartKind, Split
from cardmatch.engine.models.parts import Part, Stage


class Share(NamedTuple):
    """Bytes by what tensor parallelism does with them; `by_heads` maps numbers of key-value heads to bytes."""

    sharded: int = 0
    replicated: int = 0
    experts: int = 0
    by_heads: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """Bytes over all ranks, copies not counted."""
        return self.sharded + self.replicated + self.experts + sum(size for _, size in self.by_heads)


class WeightSums(NamedTuple):
    """The weights of a model: by layer group (all its layers), and before and after the layers.

    `tied` is the embedding that the last of several stages holds again as its head. Multi-token-prediction layers are
    apart: they are loaded only to speculate.
    """

    groups: tuple[Share, ...]
    first: Share
    last: Share
    tied: Share
    next_token: Share
    layers: tuple[int, ...]

    @property
    def total(self) -> int:
        """Bytes of the model without multi-token-prediction layers."""
        return self.first.total + self.last.total + sum(share.total for share in self.groups)


class _Sum:
    """Bytes being summed by what tensor parallelism does with them."""

    def __init__(self) -> None:
        self.sharded = self.replicated = self.experts = 0
        self.by_heads: dict[int, int] = {}

    def add(self, part: Part) -> None:
        """Count *part*."""
        if part.kind is PartKind.EXPERTS:
            self.experts += part.bytes
        elif part.split is Split.REPLICATED:
            self.replicated += part.bytes
        elif part.split is Split.KV_HEADS:
            self.by_heads[part.kv_heads] = self.by_heads.get(part.kv_heads, 0) + part.bytes
        else:
            self.sharded += part.bytes

    @property
    def share(self) -> Share:
        """What was counted."""
        return Share(self.sharded, self.replicated, self.experts, tuple(self.by_heads.items()))


def weight_sums(parts: tuple[Part, ...], layers: tuple[int, ...], *, tied: bool) -> WeightSums:
    """Sum *parts* of a model whose groups have *layers*."""
    groups = [_Sum() for _ in layers]
    first, last, tie, drafting = _Sum(), _Sum(), _Sum(), _Sum()
    for part in parts:
        if part.stage is Stage.LAYERS and part.group is not None:
            groups[part.group].add(part)
        elif part.stage is Stage.FIRST:
            first.add(part)
            if tied and part.kind is PartKind.EMBEDDING:
                tie.add(part)
        else:
            (drafting if part.kind is PartKind.MTP else last).add(part)
    return WeightSums(
        groups=tuple([group.share for group in groups]),
        first=first.share,
        last=last.share,
        tied=tie.share,
        next_token=drafting.share,
        layers=layers,
    )


def with_larger_experts(sums: WeightSums, growth: float) -> WeightSums:
    """*sums* with routed experts that take *growth* times as much."""
    groups = tuple(share._replace(experts=int(share.experts * growth)) for share in sums.groups)
    return sums._replace(groups=groups)


def rank_bytes(share: Share, layout: Layout) -> int:
    """Bytes of *share* on one tensor rank: experts go by expert ranks where there are several."""
    tensor = layout.tensor
    if tensor == 1 and layout.expert == 1:
        return share.total
    ranks = layout.expert if layout.expert > 1 else tensor
    heads = sum(size * max(1, heads // tensor) // heads for heads, size in share.by_heads)
    return -(-share.sharded // tensor) + share.replicated + -(-share.experts // ranks) + heads


class PipelineStage(NamedTuple):
    """One pipeline stage: its layers, the first one's index, and the bytes of weights on each of its GPUs."""

    start: int
    layers: int
    weights_bytes: int


def pipeline_stages(sums: WeightSums, layer_order: Sequence[int], layout: Layout) -> tuple[PipelineStage, ...]:
    """Every pipeline stage of *layout*, first to last. A tied embedding is held by the last again, as the head."""
    if layout.pipeline == 1:
        held = sum(rank_bytes(share, layout) for share in (*sums.groups, sums.first, sums.last))
        return (PipelineStage(0, len(layer_order), held),)
    each = [rank_bytes(share, layout) / max(1, layers) for share, layers in zip(sums.groups, sums.layers, strict=True)]
    stages, start = [], 0
    for size in stage_sizes(len(layer_order), layout.pipeline):
        bytes_ = int(sum(each[group] for group in layer_order[start : start + size]))
        stages.append(PipelineStage(start, size, bytes_))
        start += size
    first, last = stages[0], stages[-1]
    ends = rank_bytes(sums.last, layout) + rank_bytes(sums.tied, layout)
    stages[0] = first._replace(weights_bytes=first.weights_bytes + rank_bytes(sums.first, layout))
    stages[-1] = last._replace(weights_bytes=last.weights_bytes + ends)
    return tuple(stages)


def stage_sizes(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per stage. A remainder goes to the stages before the last, from the back.

    Source: vllm v0.33.0 distributed/utils.py, get_pp_indices.
    """
    sizes = [layers // stages] * stages
    for position in range(2, layers % stages + 2):
        sizes[-position] += 1
    return tuple(sizes)
