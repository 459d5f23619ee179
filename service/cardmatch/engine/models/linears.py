"""The matrices of a block: what number formats shrink, tensor parallelism splits and LoRA adapts."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from cardmatch.engine.models.architecture import (
    AnyBlock,
    Attention,
    CacheOwner,
    Dense,
    Experts,
)


class Split(StrEnum):
    """How tensor parallelism divides a matrix over its ranks."""

    SHARDED = "sharded"
    KV_HEADS = "kv_heads"
    REPLICATED = "replicated"


class Linear(msgspec.Struct, frozen=True):
    """A matrix of `inputs × outputs`, `copies` times in a layer, of which `active` are used for one token.

    `role` is the name that PEFT and checkpoints use (q_proj, gate_proj, …).
    """

    role: str
    inputs: int
    outputs: int
    split: Split = Split.SHARDED
    copies: int = 1
    active: int = 1

    @property
    def parameters(self) -> int:
        """Elements over all copies."""
        return self.inputs * self.outputs * self.copies

    @property
    def active_parameters(self) -> int:
        """Elements that one token passes through."""
        return self.inputs * self.outputs * self.active


def linears(block: AnyBlock, hidden_size: int) -> tuple[Linear, ...]:
    """The matrices of *block* in a model of *hidden_size*."""
    return _OF[type(block)](block, hidden_size)


def _attention(block: Attention, hidden: int) -> tuple[Linear, ...]:
    value_size = block.value_head_size or block.head_size
    query = Linear("q_proj", hidden, block.query_heads * block.head_size * (2 if block.output_gate else 1))
    output = Linear("o_proj", block.query_heads * value_size, hidden)
    if block.cache is CacheOwner.SHARED:
        return query, output
    key = Linear("k_proj", hidden, block.kv_heads * block.head_size, Split.KV_HEADS)
    if block.keys_are_values:
        return query, key, output
    return query, key, Linear("v_proj", hidden, block.kv_heads * value_size, Split.KV_HEADS), output


def _feed_forward(
    hidden: int, width: int, *, gated: bool, copies: int = 1, active: int = 1, prefix: str = ""
) -> tuple[Linear, ...]:
    up = Linear(prefix + "up_proj", hidden, width, copies=copies, active=active)
    down = Linear(prefix + "down_proj", width, hidden, copies=copies, active=active)
    if not gated:
        return up, down
    return Linear(prefix + "gate_proj", hidden, width, copies=copies, active=active), up, down


def _dense(block: Dense, hidden: int) -> tuple[Linear, ...]:
    return _feed_forward(hidden, block.width, gated=block.gated)


def _experts(block: Experts, hidden: int) -> tuple[Linear, ...]:
    seen = block.input_size or hidden
    parts = [Linear("router", hidden, block.experts, Split.REPLICATED)]
    parts += _feed_forward(
        seen, block.width, gated=block.gated, copies=block.experts, active=block.experts_per_token, prefix="experts."
    )
    if block.shared_width:
        parts += _feed_forward(hidden, block.shared_width, gated=block.gated, prefix="shared_expert.")
    if block.shared_gate:
        parts.append(Linear("shared_expert_gate", hidden, 1, Split.REPLICATED))
    if block.input_size:
        parts += [
            Linear("latent_in", hidden, seen, Split.REPLICATED),
            Linear("latent_out", seen, hidden, Split.REPLICATED),
        ]
    return tuple(parts)


_OF: dict[type[Any], Callable[[Any, int], tuple[Linear, ...]]] = {
    Attention: _attention,
    Dense: _dense,
    Experts: _experts,
}
