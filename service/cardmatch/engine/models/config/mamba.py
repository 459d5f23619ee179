"""State-space layers and the models made of nothing else: Mamba, Mamba-2, Falcon-Mamba."""

from __future__ import annotations

from cardmatch.engine.models.architecture import Architecture, LayerGroup, Mamba
from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, contradiction, divisible
from cardmatch.engine.models.config.shape import MOST_HEADS, MOST_HIDDEN, read_hidden, read_layers, read_vocabulary

_MOST_INNER = 8 * MOST_HIDDEN
_MOST_STATE = 1 << 14
_MOST_WIDTH = 64


def read_mamba(keys: Keys, family: Family) -> Architecture:
    """A stack of Mamba layers of one version. Raises Invalid."""
    hidden, layers = read_hidden(keys), read_layers(keys)
    block = mamba_two(keys, hidden) if family.version == 2 else mamba_one(keys, hidden)
    small = hidden + mamba_small(keys, block, hidden)
    return Architecture(
        family=keys.text("model_type", "unknown"),
        hidden_size=hidden,
        vocabulary_size=read_vocabulary(keys),
        layer_groups=(LayerGroup(blocks=(block,), small_parameters=small),),
        layer_order=(0,) * layers,
        small_parameters=hidden,
    )


def mamba_one(keys: Keys, hidden: int) -> Mamba:
    """A layer of the first version: a state per channel."""
    inner = keys.maybe("mamba_inner_size", high=_MOST_INNER)
    if inner is None:
        inner = int(hidden * keys.number("mamba_expand", 2, low=1 / 16, high=16))
    found = keys.find("mamba_dt_rank")
    automatic = found is None or found[1] == "auto"
    rank = -(-hidden // 16) if automatic else keys.size("mamba_dt_rank", high=MOST_HIDDEN)
    return Mamba(
        version=1,
        inner_size=inner,
        state_size=keys.size("mamba_d_state", 16, high=_MOST_STATE),
        convolution_width=keys.size("mamba_d_conv", 4, high=_MOST_WIDTH),
        time_step_rank=rank,
    )


def mamba_two(keys: Keys, hidden: int) -> Mamba:
    """A layer of the second version: heads that share B and C in groups."""
    heads = keys.size("mamba_n_heads", high=MOST_HEADS)
    pointer, found = keys.where("mamba_n_heads"), keys.find("mamba_d_head")
    size = keys.size("mamba_d_head", high=_MOST_STATE) if found and found[1] != "auto" else None
    inner = keys.maybe("mamba_inner_size", high=_MOST_INNER)
    if inner is None and size is not None:
        inner = heads * size
    if inner is None:
        inner = int(hidden * keys.number("mamba_expand", 2, low=1 / 16, high=16))
    if size is not None and size * heads != inner:
        contradiction(keys.where("mamba_d_head"), value=size, expected=max(inner // heads, 1), other=pointer)
    divisible(inner, pointer, divisor=heads, other=pointer)
    groups = keys.size("mamba_n_groups", 1, high=MOST_HEADS)
    divisible(heads, pointer, divisor=groups, other=keys.where("mamba_n_groups"))
    return Mamba(
        version=2,
        inner_size=inner,
        state_size=keys.size("mamba_d_state", 128, high=_MOST_STATE),
        convolution_width=keys.size("mamba_d_conv", 4, high=_MOST_WIDTH),
        heads=heads,
        groups=groups,
    )


def mamba_small(keys: Keys, block: Mamba, hidden: int, *, norm: bool = True) -> int:
    """Elements of convolution, decay, skip, step bias and gated norm of one layer."""
    channels = block.inner_size + (2 * block.groups * block.state_size if block.version == 2 else 0)
    small = channels * block.convolution_width
    small += channels if keys.flag("mamba_conv_bias", fallback=True) else 0
    projected = 2 * block.inner_size
    if block.version == 1:
        small += block.inner_size * block.state_size + 2 * block.inner_size
    else:
        small += 3 * block.heads + (block.inner_size if norm else 0)
        projected += 2 * block.groups * block.state_size + block.heads
    return small + (projected + hidden if keys.flag("mamba_proj_bias") else 0)
