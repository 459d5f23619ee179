"""What lies beside a model's own weights: drafters and LoRA adapters."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.bands import sure
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.speculation import SpeculativeMethod
from cardmatch.engine.memory.weights import rank_bytes
from cardmatch.engine.models.architecture import Architecture, Dense
from cardmatch.engine.models.cache import CacheKind, CacheRow, by_layer
from cardmatch.engine.models.linears import PartKind, linears
from cardmatch.engine.terms.band import Band, Basis

_BYTES = 2
DEFAULT_RANK = 16
_FUSED_STATES = {SpeculativeMethod.EAGLE: 2, SpeculativeMethod.EAGLE3: 3}
"""Hidden states of the target that a head concatenates before its layer (EAGLE §3; EAGLE-3 §3)."""

_DRAFT_VOCABULARY = 32_000
_WIDTH_PER_HIDDEN = 3.5
_HEAD_LOW, _HEAD_HIGH = 0.5, 2.0


class LoraSizes(NamedTuple):
    """Inputs and outputs of all adapted matrices of a model, summed; adapters take rank × (inputs + outputs)."""

    inputs: int
    outputs: int


def lora_sizes(architecture: Architecture) -> LoraSizes:
    """The matrices that adapters on all linear layers wrap: attention, feed-forward and shared experts."""
    counts = [0] * len(architecture.layer_groups)
    for group in architecture.layer_order:
        counts[group] += 1
    inputs = outputs = 0
    for layer, number in zip(architecture.layer_groups, counts, strict=True):
        for block in layer.blocks:
            for linear in linears(block, architecture.hidden_size):
                if linear.part in {PartKind.ATTENTION, PartKind.DENSE, PartKind.SHARED_EXPERTS}:
                    inputs += linear.inputs * number
                    outputs += linear.outputs * number
    return LoraSizes(inputs, outputs)


def adapter_bytes(architecture: Architecture, count: int, rank: int, tensor: int = 1, *, sharded: bool = False) -> int:
    """Bytes of *count* adapters on one of *tensor* ranks; A stays whole on each rank unless fully *sharded*.

    Source: vllm v0.33.0 lora/layers/base_linear.py, create_lora_weights.
    """
    sizes = lora_sizes(architecture)
    whole = sizes.inputs / tensor if sharded else sizes.inputs
    return int(count * rank * (whole + sizes.outputs / tensor) * _BYTES)


def slots_bytes(job: ServingJob, tensor: int, count: int | None, rank: int | None, *, sharded: bool = False) -> int:
    """LoRA slots on one rank: *count* of *rank* where the engine was told so, else as many as the workload has."""
    if job.adapters is None and count is None:
        return 0
    count = count or (job.adapters.count if job.adapters else 1)
    rank = rank or (job.adapters.rank if job.adapters else DEFAULT_RANK)
    return adapter_bytes(job.architecture, count, rank, tensor, sharded=sharded)


def drafter_bytes(job: ServingJob, layout: Layout) -> Band:
    """Weights of the drafter on the GPU that holds it: next-token layers, a head of one layer, or another model."""
    if job.speculative is None:
        return sure(0)
    method = job.speculative.method
    if method is SpeculativeMethod.MTP:
        return sure(rank_bytes(job.sums.next_token, layout))
    if job.drafter is not None:
        sums = job.drafter.sums
        return sure(sum(rank_bytes(share, layout) for share in (*sums.groups, sums.first, sums.last)))
    if method not in _FUSED_STATES:
        return sure(0)
    expected = _head_bytes(job.architecture, _FUSED_STATES[method]) // layout.tensor
    return Band(
        low_bytes=int(expected * _HEAD_LOW),
        expected_bytes=expected,
        high_bytes=int(expected * _HEAD_HIGH),
        basis=Basis.RULE_OF_THUMB,
    )


def drafter_rows(job: ServingJob) -> tuple[CacheRow, ...]:
    """What the drafter caches; a head of one layer caches like a layer of the target that keeps every token."""
    if job.speculative is None or job.speculative.method is SpeculativeMethod.NGRAM:
        return ()
    if job.drafter is not None:
        return job.drafter.cache_rows
    if job.speculative.method not in _FUSED_STATES:
        return ()
    full = next((row for row in job.cache_rows if row.kind in {CacheKind.FULL, CacheKind.MLA}), None)
    return () if full is None else (msgspec.structs.replace(full, layers=1),)


def drafting_rows(job: ServingJob) -> tuple[CacheRow, ...]:
    """What drafting caches, next-token layers of the model itself included."""
    extra = job.architecture.next_token_layers
    if job.speculative is None or job.speculative.method is not SpeculativeMethod.MTP or extra is None:
        return drafter_rows(job)
    return by_layer(job.architecture, (), next_token=True)


def _head_bytes(architecture: Architecture, states: int) -> int:
    """One attention and feed-forward layer, the projection of the target's hidden states, and a small vocabulary."""
    hidden = architecture.hidden_size
    widths = [block.width for group in architecture.layer_groups for block in group.blocks if isinstance(block, Dense)]
    width = max(widths, default=int(_WIDTH_PER_HIDDEN * hidden))
    attention = 4 * hidden * hidden
    return (attention + 3 * hidden * width + states * hidden * hidden + _DRAFT_VOCABULARY * hidden) * _BYTES
