"""Number formats of weights: bits per weight with their scales, and which parts of a model each format shrinks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.models.linears import PartKind


class Dtype(StrEnum):
    """What is not quantised."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"


DTYPE_BITS = {Dtype.BF16: 16, Dtype.FP16: 16, Dtype.FP32: 32}

WeightFormat = Annotated[
    str,
    Meta(
        pattern="^(as_published|bf16|fp16|fp32|fp8|fp8_block|int8|awq_int4|gptq_int4|gptq_int8|w4a16|nf4|nf4_dq|nvfp4"
        r"|mxfp4|mxfp8|exl3|gguf:[A-Za-z0-9_-]{1,32})$(?!\n)",
        description="Number format of the weights; `gguf:` is followed by the type that names the file (Q4_K_M).",
    ),
]

LINEAR = frozenset({PartKind.ATTENTION, PartKind.DENSE, PartKind.EXPERTS, PartKind.SHARED_EXPERTS})


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A weight format: bits per weight with scales and zero points, and the parts that its tools quantise.

    Everything else stays at the checkpoint's 16 bits: embeddings, head, norms, routers, gates, towers, MTP layers.
    """

    bits: float
    shrinks: frozenset[PartKind] = LINEAR
    source: str


def grouped(bits: float, group_size: int, scale_bits: float = 16, zero_bits: float = 0) -> float:
    """Bits per weight of values of *bits* that share a scale (and a zero point) in groups of *group_size*."""
    return bits + (scale_bits + zero_bits) / group_size


_BLOCK = 128 * 128
_BNB = LINEAR | {PartKind.TOWER}
FORMATS: dict[str, Format] = {
    "fp8": Format(bits=8, source="one scale per tensor or channel: compressed-tensors FP8-dynamic, ModelOpt FP8"),
    "fp8_block": Format(bits=grouped(8, _BLOCK, 32), source="128 × 128 blocks with an fp32 scale: DeepSeek-V3 §3.3"),
    "mxfp8": Format(bits=grouped(8, 32, 8), source="OCP Microscaling 1.0: 32 elements share an E8M0 scale"),
    "int8": Format(bits=8, shrinks=_BNB, source="bitsandbytes LLM.int8 and W8A8: one scale a row"),
    "awq_int4": Format(bits=grouped(4, 128, 16, 4), source="AutoAWQ GEMM: groups of 128, fp16 scale, 4-bit zero"),
    "gptq_int4": Format(bits=grouped(4, 128, 16, 4), source="GPTQModel: groups of 128, fp16 scale, 4-bit zero"),
    "gptq_int8": Format(bits=grouped(8, 128, 16, 8), source="GPTQModel: groups of 128, fp16 scale, 8-bit zero"),
    "w4a16": Format(bits=grouped(4, 128, 16), source="compressed-tensors pack-quantized, symmetric, groups of 128"),
    "nf4": Format(bits=grouped(4, 64, 32), shrinks=_BNB, source="QLoRA §3: blocks of 64 with an fp32 constant"),
    "nf4_dq": Format(
        bits=4 + 8 / 64 + 32 / (64 * 256),
        shrinks=_BNB,
        source="QLoRA §3: 8-bit constants in blocks of 256, 0.127 bits a weight",
    ),
    "nvfp4": Format(bits=grouped(4, 16, 8), source="ModelOpt NVFP4: 16 elements share an E4M3 scale"),
    "mxfp4": Format(bits=grouped(4, 32, 8), source="OCP Microscaling 1.0: 32 elements share an E8M0 scale"),
    "exl3": Format(bits=4, source="ExLlamaV3 convert.py: 4.0 bits unless the file says otherwise"),
}


def shrunk(name: str, *, has_experts: bool) -> frozenset[PartKind]:
    """The parts that tools of format *name* quantise; the 4-bit floats take only the experts where there are any.

    Sources: gpt-oss (MXFP4); hf_quant_config.json of NVIDIA's NVFP4 builds of GLM-5, Kimi-K2, MiniMax-M2, Qwen3.5 and
    Gemma-4, which exclude attention and shared experts.
    """
    if name in {"mxfp4", "nvfp4"} and has_experts:
        return frozenset({PartKind.EXPERTS})
    return FORMATS[name].shrinks
