"""Bytes per parameter: numeric recipes of weights, gradients and master copies, and what optimizers add."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Precision(StrEnum):
    """The numeric recipe. `mixed_*` keep fp32 parameters (or shards of them) and compute in the named format."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    MIXED_BF16 = "mixed_bf16"
    MIXED_FP16 = "mixed_fp16"
    MIXED_FP8 = "mixed_fp8"
    MIXED_NVFP4 = "mixed_nvfp4"
    BF16_FP32_MASTER = "bf16_fp32_master"


class OptimizerName(StrEnum):
    """Optimizers; paged ones may leave the GPU when memory is short."""

    ADAMW = "adamw"
    ADAMW_8BIT = "adamw_8bit"
    ADAMW_4BIT = "adamw_4bit"
    PAGED_ADAMW = "paged_adamw"
    PAGED_ADAMW_8BIT = "paged_adamw_8bit"
    ADAFACTOR = "adafactor"
    LION = "lion"
    LION_8BIT = "lion_8bit"
    MUON = "muon"
    SGD = "sgd"
    SGD_MOMENTUM = "sgd_momentum"


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes per trained parameter. `state` is what one optimizer state takes, `compute` what activations take.

    `autocast` says that layers run on 16-bit copies of fp32 parameters, cached during a step unless FSDP gathers them
    in 16 bits anyway; the residual stream then stays in fp32.
    """

    compute: int
    weight: int
    master: int
    gradient: int
    state: int
    autocast: bool
    source: str


_AUTOCAST = Recipe(
    compute=2,
    weight=4,
    master=0,
    gradient=4,
    state=4,
    autocast=True,
    source="torch.amp and FSDP MixedPrecision: parameters, gradients and states stay fp32",
)
_PURE_16 = Recipe(
    compute=2,
    weight=2,
    master=0,
    gradient=2,
    state=2,
    autocast=False,
    source="torch.optim.AdamW makes its states like the parameter",
)
RECIPES: dict[Precision, Recipe] = {
    Precision.BF16: _PURE_16,
    Precision.FP16: _PURE_16,
    Precision.FP32: Recipe(
        compute=4, weight=4, master=0, gradient=4, state=4, autocast=False, source="torch.optim.AdamW in fp32"
    ),
    Precision.MIXED_BF16: _AUTOCAST,
    Precision.MIXED_FP16: _AUTOCAST,
    Precision.MIXED_FP8: _AUTOCAST,
    Precision.MIXED_NVFP4: _AUTOCAST,
    Precision.BF16_FP32_MASTER: Recipe(
        compute=2,
        weight=2,
        master=4,
        gradient=2,
        state=4,
        autocast=False,
        source="ZeRO (arXiv 1910.02054) §3.1: 2 + 2 bytes in 16 bits and K = 12; Megatron-LM keeps gradients in fp32",
    ),
}


class Optimizer(msgspec.Struct, frozen=True, kw_only=True):
    """What an optimizer keeps per trained parameter: `states` of the recipe's size, or `fixed` bytes of its own.

    `embedding_states`: states of the recipe's size that embeddings have instead. `temporary`: whether the unfused
    (foreach) step makes a copy of all parameters; bitsandbytes and Adafactor go tensor by tensor.
    """

    states: float = 0
    fixed: float = 0
    embedding_states: float | None = None
    temporary: bool = False
    paged: bool = False
    source: str


_BLOCK = 256
_EIGHT_BIT = 1 + 4 / _BLOCK
_FOUR_BIT = 0.5 + 4 / 128
_TORCH = "torch.optim"
_SGD = "torch.optim.sgd: without weight decay the foreach step adds in place"
_BNB = "bitsandbytes: blocks of 256 with an fp32 constant; embeddings keep 32-bit states (GlobalOptimManager)"
OPTIMIZERS: dict[OptimizerName, Optimizer] = {
    OptimizerName.ADAMW: Optimizer(states=2, temporary=True, source=_TORCH),
    OptimizerName.ADAMW_8BIT: Optimizer(fixed=2 * _EIGHT_BIT, embedding_states=2, source=_BNB),
    OptimizerName.ADAMW_4BIT: Optimizer(fixed=2 * _FOUR_BIT, source="torchao AdamW4bit: blocks of 128"),
    OptimizerName.PAGED_ADAMW: Optimizer(states=2, paged=True, source="bitsandbytes PagedAdamW32bit"),
    OptimizerName.PAGED_ADAMW_8BIT: Optimizer(fixed=2 * _EIGHT_BIT, embedding_states=2, paged=True, source=_BNB),
    OptimizerName.ADAFACTOR: Optimizer(fixed=0.01, source="Adafactor (arXiv 1804.04235): a row and a column a matrix"),
    OptimizerName.LION: Optimizer(states=1, temporary=True, source="Lion (arXiv 2302.06675): one momentum"),
    OptimizerName.LION_8BIT: Optimizer(fixed=_EIGHT_BIT, embedding_states=1, source=_BNB),
    OptimizerName.MUON: Optimizer(states=1, embedding_states=2, source="Muon: momentum; AdamW for embeddings"),
    OptimizerName.SGD: Optimizer(source=_SGD),
    OptimizerName.SGD_MOMENTUM: Optimizer(states=1, source=_SGD),
}


def state_bytes(optimizer: Optimizer, recipe_state: int, matrices: float, embeddings: float) -> float:
    """Optimizer states of *matrices* and *embeddings*, in trained parameters, under a recipe's bytes per state."""
    each = optimizer.states * recipe_state + optimizer.fixed
    if optimizer.embedding_states is None:
        return each * (matrices + embeddings)
    # bitsandbytes states of embeddings are fp32 whatever the parameter's type.
    wide = optimizer.embedding_states * (4 if optimizer.fixed else recipe_state)
    return each * matrices + wide * embeddings
