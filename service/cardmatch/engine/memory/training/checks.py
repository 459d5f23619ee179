"""What a training request may not ask for, each with what would be right."""

from __future__ import annotations

from collections.abc import Iterator

from cardmatch.engine.memory.training.frameworks import FRAMEWORKS, GENERIC
from cardmatch.engine.memory.training.recipes import RECIPES, Precision
from cardmatch.engine.memory.training.workload import Method, Offload, Sharding, Training
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.formats import DTYPE_BITS, Dtype
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

QUANTISED_BASES = ("nf4_dq", "nf4", "int8", "fp8", "gptq_int4", "gptq_int8", "awq_int4", "w4a16", "mxfp4", "nvfp4")
"""Formats of a frozen base that adapters are trained over: bitsandbytes, GPTQ, AWQ and compressed-tensors layers."""


def check(workload: Training, checkpoint: Checkpoint) -> None:
    """Raise Invalid with every contradiction in *workload*; pointers are into the request."""
    faults = tuple(_faults(workload, checkpoint))
    if faults:
        raise Invalid(*faults)


def _faults(workload: Training, checkpoint: Checkpoint) -> Iterator[Fault]:
    if workload.method is Method.FULL:
        yield from _full(workload)
    else:
        yield from _base(workload, checkpoint)
    if workload.upcast_embeddings and workload.method is not Method.QLORA:
        yield _contradiction("/workload/method", workload.method.value, "/workload/upcast_embeddings", "qlora")
    if workload.shard_group is not None and workload.sharding is not Sharding.HSDP:
        found = (workload.sharding or Sharding.FSDP).value
        yield _contradiction("/workload/sharding", found, "/workload/shard_group", "hsdp")
    if workload.optimizer_in_backward:
        # Gradients are gone once they are used: none wait for a step on the host or for further micro-batches.
        if Offload.OPTIMIZER in workload.offload:
            yield _excluded("optimizer_in_backward", "offload")
        if (workload.gradient_accumulation_steps or 1) > 1:
            yield _excluded("gradient_accumulation_steps", "optimizer_in_backward")


def _excluded(field: str, other: str) -> Fault:
    params = {"field": f"/workload/{other}"}
    return Fault(code=FaultCode.CONFLICTS_WITH, pointer=f"/workload/{field}", params={**params})


def _full(workload: Training) -> Iterator[Fault]:
    if workload.weights not in {"as_published", *DTYPE_BITS}:
        yield Fault(
            code=FaultCode.QUANTISED_WEIGHTS_NOT_TRAINABLE,
            pointer="/workload/weights",
            params={"weights": workload.weights, "known": ["as_published", *(each.value for each in DTYPE_BITS)]},
            suggestions=("as_published",),
        )
    elif workload.weights != "as_published":
        yield from _as_trained(workload)
    if workload.lora is not None:
        yield Fault(
            code=FaultCode.LORA_WITHOUT_LORA_METHOD,
            pointer="/workload/lora",
            params={"method": workload.method.value},
        )


def _as_trained(workload: Training) -> Iterator[Fault]:
    """Trained weights are as wide as the recipe keeps them, whatever the file's are."""
    precision = workload.precision or (FRAMEWORKS[workload.framework] if workload.framework else GENERIC).precision
    recipe, bits = RECIPES[precision], DTYPE_BITS[Dtype(workload.weights)]
    if bits != 8 * recipe.weight:
        fits = Precision.FP32 if bits == 8 * RECIPES[Precision.FP32].weight else Precision.BF16
        yield _contradiction("/workload/precision", precision.value, "/workload/weights", fits.value)


def _base(workload: Training, checkpoint: Checkpoint) -> Iterator[Fault]:
    allowed = {"as_published", *QUANTISED_BASES, checkpoint.format}
    if workload.method is Method.LORA:
        allowed |= set(DTYPE_BITS)
    elif checkpoint.format in DTYPE_BITS:
        allowed.discard(checkpoint.format)
    if workload.weights not in allowed:
        yield Fault(
            code=FaultCode.WRONG_VALUE,
            pointer="/workload/weights",
            params={"value": workload.weights, "known": list(QUANTISED_BASES)},
            suggestions=QUANTISED_BASES[:2],
        )


def _contradiction(pointer: str, value: str, other: str, expected: str) -> Fault:
    return Fault(
        code=FaultCode.CONTRADICTION,
        pointer=pointer,
        params={"value": value, "other": other, "expected": expected},
        suggestions=(expected,),
    )
