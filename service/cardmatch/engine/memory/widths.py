"""How wide a layer is for one token: what activations are multiples of."""

from __future__ import annotations

from cardmatch.engine.models.architecture import Architecture, Attention, Experts


def widest_layer(architecture: Architecture) -> int:
    """Elements that the widest layer holds for one token: residual, queries, keys, values and the feed-forward."""
    widest = 0
    for group in architecture.layer_groups:
        elements = 2 * architecture.hidden_size
        for block in group.blocks:
            if isinstance(block, Attention):
                elements += (block.query_heads + 2 * block.kv_heads) * block.head_size
            elif isinstance(block, Experts):
                elements += (
                    block.experts_per_token * (2 * block.width + architecture.hidden_size) + 2 * block.shared_width
                )
            else:
                elements += 2 * getattr(block, "width", 0)
        widest = max(widest, elements)
    return widest
