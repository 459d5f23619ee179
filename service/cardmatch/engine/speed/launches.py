"""How many kernels one pass launches: what small models on fast cards spend their time on.

Counted operation by operation as a graph without fusing has them (llama.cpp's); engines that fuse some launch fewer, by
a factor of their own.
"""

from __future__ import annotations

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Architecture,
    Attention,
    CompressedAttention,
    CrossAttention,
    Dense,
    Experts,
    LatentAttention,
    LinearAttention,
    Mamba,
    Matrices,
    ShortConvolution,
)
from cardmatch.engine.models.parameters import layer_counts

ATTENTION = 12
"""Norm, three projections, two rotations, two writes to the cache, scores with softmax and values, output, residual."""
LINEAR = 20
"""Norm, four projections, convolution and its state, two norms, three gates, the recurrence and its state, gated norm,
output, residual.
"""
STATE_SPACE = 14
FEED_FORWARD = 6
"""Norm, gate, up, activation, down, residual."""
ROUTED = 12
"""Norm, router, softmax, choice, three multiplications by experts, activation, weights, sums, residual."""
SHARED = 4

_OF: dict[type, int] = {
    Attention: ATTENTION,
    LatentAttention: ATTENTION,
    CompressedAttention: ATTENTION,
    CrossAttention: ATTENTION,
    LinearAttention: LINEAR,
    Mamba: STATE_SPACE,
    ShortConvolution: STATE_SPACE,
    Dense: FEED_FORWARD,
}


def launches(model: Architecture) -> int:
    """Kernels of all layers of *model*."""
    counts = zip(model.layer_groups, layer_counts(model), strict=True)
    return sum(sum(_block(block) for block in group.blocks) * number for group, number in counts)


def _block(block: AnyBlock) -> int:
    if isinstance(block, Experts):
        return ROUTED + (SHARED if block.shared_width else 0)
    if isinstance(block, Matrices):
        return 2 * len(block.matrices)
    return _OF[type(block)]
