"""How a layer is run, as far as it decides which tensors autograd keeps."""

from __future__ import annotations

from typing import NamedTuple


class Style(NamedTuple):
    """The facts that the bytes of an activation depend on.

    `compute` and `residual`: bytes of an element in matrices and in the residual stream. `fused`: norms and gated
    activations keep their inputs only. `eager`: RMS norms run op by op in fp32. `trained`: the base weights get
    gradients, so inputs of matrices are kept. `adapted`: roles of the matrices that carry LoRA. `all_inputs`: frozen
    quantised matrices keep their inputs too. `expanded`: keys and values are repeated for each query head. `scores`:
    the attention matrix exists. `dropout`: the family is trained with dropout.
    """

    compute: int = 2
    residual: int = 2
    fused: bool = False
    eager: bool = False
    trained: bool = True
    adapted: frozenset[str] = frozenset()
    all_inputs: bool = False
    expanded: bool = False
    scores: bool = False
    score_bytes: int = 2
    dropout: bool = False


ADAPTER_INPUT_BYTES = 3
"""An adapter keeps its own 16-bit copy of its input and the mask of its dropout (peft LoraLayer, dropout 0.05)."""


class Saved(NamedTuple):
    """Bytes per token that autograd keeps in a layer, and what recomputing and differentiating it adds.

    `whole` is what tensor parallelism leaves on every rank unless the sequence is split too, `sharded` what it
    divides, `scores` what each token keeps per token it may attend to. `outputs` are all matrix outputs (selective
    checkpointing keeps half of them), `attention` the attention's own output, `transient` the gradients that live
    beside the kept tensors. `source` is not per token but per sequence: keys and values of what it attends to.
    """

    whole: float = 0
    sharded: float = 0
    scores: float = 0
    outputs: float = 0
    attention: float = 0
    transient: float = 0
    source: float = 0


def add(first: Saved, second: Saved) -> Saved:
    """Both blocks of a layer; of the transients only one block's live at a time."""
    return Saved(
        first.whole + second.whole,
        first.sharded + second.sharded,
        first.scores + second.scores,
        first.outputs + second.outputs,
        first.attention + second.attention,
        max(first.transient, second.transient),
        first.source + second.source,
    )


def input_bytes(style: Style, width: float, roles: tuple[str, ...], *, kept_anyway: bool = False) -> float:
    """What the matrices *roles*, fed by one tensor of *width*, keep of it.

    Trained weights keep it once, unless the operation before has kept it anyway; adapters keep a copy each, fused ones
    share it.
    """
    adapters = sum(1 for role in roles if role in style.adapted)
    if style.trained or style.all_inputs or (adapters and style.fused):
        base = 0.0 if kept_anyway else style.compute * width
        return base + (0 if style.trained or style.fused else adapters * ADAPTER_INPUT_BYTES * width)
    return adapters * ADAPTER_INPUT_BYTES * width


def norm_bytes(style: Style, width: float, *, rms: bool = True) -> float:
    """What the norm before a block keeps: its input; run op by op also an fp32 copy and, if trained, the normed one."""
    if not (rms and style.eager):
        return style.residual * width
    return (4 + (style.compute if style.trained else 0)) * width
