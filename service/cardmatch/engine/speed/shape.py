"""What one token moves and computes: the sizes of a model that its speed depends on."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.need import state_bytes
from cardmatch.engine.memory.weights import Share
from cardmatch.engine.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    Experts,
    LatentAttention,
    LayerGroup,
)
from cardmatch.engine.models.cache import CacheRow
from cardmatch.engine.models.checkpoint import Checkpoint, format_of, has_experts
from cardmatch.engine.models.kv_formats import KvCache, token_bytes
from cardmatch.engine.models.linears import PartKind, Split
from cardmatch.engine.models.parameters import (
    embedding_parameters,
    group_parameters,
    head_parameters,
    layer_counts,
)
from cardmatch.engine.speed.kernels import Kernel, kernel_of
from cardmatch.engine.speed.launches import launches


class ExpertWeights(NamedTuple):
    """Routed experts of alike layers: their bytes together, how many a layer has, how many a token uses."""

    bytes: int
    experts: int
    per_token: int
    layers: int


class Kept(NamedTuple):
    """Cache that a token reads per earlier token, in alike layers; tensor ranks divide it among at most *heads*."""

    bytes_per_token: float
    window_tokens: int | None
    heads: int


class Attended(NamedTuple):
    """Arithmetic of attention for one token per earlier token it sees, over alike layers."""

    flops_per_token: float
    window_tokens: int | None


class Shape(NamedTuple):
    """A model in its formats, as the speed formulas see it.

    `launches` are the kernels of all layers; `weights` all bytes that every step reads (lookup tables and routed
    experts apart); `multiplied` the parameters
    that a token is multiplied by; `state_bytes` and `fixed_bytes` what a request reads whatever its length.
    """

    layers: int
    launches: int
    hidden: int
    weights: Share
    experts: tuple[ExpertWeights, ...]
    multiplied: float
    attended: tuple[Attended, ...]
    kept: tuple[Kept, ...]
    state_bytes: int
    kernel: Kernel

    @property
    def is_mixture(self) -> bool:
        """Whether a token uses a part of the weights only."""
        return bool(self.experts)


def shape_of(job: ServingJob) -> Shape:
    """The shape of the model of *job*, with its weights and cache in the job's formats."""
    model, sums = job.architecture, job.sums
    head = sums.tied if model.tied_embeddings else sums.last
    read = [share._replace(experts=0) for share in sums.groups]
    return Shape(
        layers=len(model.layer_order),
        launches=launches(model),
        hidden=model.hidden_size,
        weights=_sum([*read, head]),
        experts=_experts(model, [share.experts for share in sums.groups]),
        multiplied=multiplied_parameters(model),
        attended=attended(model),
        kept=tuple([_kept(row, job.kv_cache) for row in job.cache_rows if row.elements]),
        state_bytes=sum(state_bytes(row, model.state) for row in job.cache_rows),
        kernel=_kernel(model, job.checkpoint),
    )


def multiplied_parameters(model: Architecture) -> float:
    """Parameters that each token is multiplied by: active ones without lookups, towers and encoder; the head counts."""
    counts = zip(model.layer_groups, layer_counts(model), strict=True)
    layers = sum(group_parameters(group, model.hidden_size)[1] * number for group, number in counts)
    head = embedding_parameters(model) if model.tied_embeddings else head_parameters(model)
    return layers + head + model.small_parameters


def _sum(shares: list[Share]) -> Share:
    heads: dict[int, int] = {}
    for share in shares:
        for number, size in share.by_heads:
            heads[number] = heads.get(number, 0) + size
    return Share(
        sharded=sum(share.sharded for share in shares),
        replicated=sum(share.replicated for share in shares),
        by_heads=tuple(heads.items()),
    )


def _experts(model: Architecture, sizes: list[int]) -> tuple[ExpertWeights, ...]:
    groups = zip(model.layer_groups, layer_counts(model), sizes, strict=True)
    return tuple(
        [
            ExpertWeights(size, block.experts, block.experts_per_token, layers)
            for group, layers, size in groups
            for block in group.blocks
            if isinstance(block, Experts) and layers
        ]
    )


def _kept(row: CacheRow, cache: KvCache) -> Kept:
    """Source tokens of an encoder count as a window that is always full."""
    each = token_bytes(row, cache) * row.layers / row.tokens_per_entry
    window = row.fixed_tokens if row.fixed_tokens is not None else row.window_tokens
    return Kept(each, window, row.kv_heads if row.split is Split.KV_HEADS else 1)


def attended(model: Architecture) -> tuple[Attended, ...]:
    """Attention of all layers of *model*, by window."""
    found: dict[int | None, float] = {}
    for group, layers in zip(model.layer_groups, layer_counts(model), strict=True):
        for window, flops in _seen(group):
            found[window] = found.get(window, 0.0) + flops * layers
    return tuple([Attended(flops, window) for window, flops in found.items()])


def _seen(group: LayerGroup) -> list[tuple[int | None, float]]:
    """Window and FLOPs per earlier token of each mixer: scores and weighted values, a multiply and an add each."""
    found: list[tuple[int | None, float]] = []
    for block in group.blocks:
        if isinstance(block, Attention):
            width = block.head_size + (block.value_head_size or block.head_size)
            found.append((block.window_tokens, 2.0 * block.query_heads * width))
        elif isinstance(block, LatentAttention):
            width = block.no_rope_head_size + block.rope_head_size + block.value_head_size
            found.append((None, 2.0 * block.heads * width))
        elif isinstance(block, CompressedAttention):
            found.append((block.window_tokens, 4.0 * block.heads * block.latent_size))
            if block.ratio:
                found.append((None, 4.0 * block.heads * block.latent_size / block.ratio))
    return found


def _kernel(model: Architecture, checkpoint: Checkpoint) -> Kernel:
    """Which kernels multiply most of the weights."""
    part = PartKind.EXPERTS if has_experts(model) else PartKind.DENSE
    return kernel_of(format_of(checkpoint, part))
