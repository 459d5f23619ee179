"""Which multiplication kernels a weight format runs on, and what rate of a card bounds them."""

from __future__ import annotations

from enum import StrEnum

from cardmatch.engine.hardware.card import DenseRates


class Kernel(StrEnum):
    """Kernels with an efficiency of their own.

    `weight_only` unpacks to 16 bits before it multiplies (AWQ, GPTQ, bitsandbytes), and `widened` does so with formats
    whose tensor cores the card lacks; `ggml` are llama.cpp's for packed types and multiply in INT8; `fp8_block` keeps
    a scale for every 128 × 128 block.
    """

    SIXTEEN = "sixteen"
    FP8 = "fp8"
    FP8_BLOCK = "fp8_block"
    FP4 = "fp4"
    INT8 = "int8"
    WEIGHT_ONLY = "weight_only"
    WIDENED = "widened"
    GGML = "ggml"


_OF = {
    "bf16": Kernel.SIXTEEN,
    "fp16": Kernel.SIXTEEN,
    "fp32": Kernel.SIXTEEN,
    "fp8": Kernel.FP8,
    "fp8_block": Kernel.FP8_BLOCK,
    "mxfp8": Kernel.FP8_BLOCK,
    "int8": Kernel.INT8,
    "nvfp4": Kernel.FP4,
    "mxfp4": Kernel.FP4,
}
_PLAIN_GGUF = {"gguf:F16", "gguf:BF16", "gguf:F32"}


def kernel_of(weights: str) -> Kernel:
    """The kernels that multiply weights of format *weights*."""
    if weights.startswith("gguf:"):
        return Kernel.SIXTEEN if weights in _PLAIN_GGUF else Kernel.GGML
    return _OF.get(weights, Kernel.WEIGHT_ONLY)


def native(kernel: Kernel, rates: DenseRates) -> Kernel:
    """*kernel* as a card of *rates* can run it: formats without tensor cores of their own are unpacked to 16 bits."""
    wanted = {
        Kernel.FP8: rates.fp8_tflops,
        Kernel.FP8_BLOCK: rates.fp8_tflops,
        Kernel.FP4: rates.fp4_tflops,
        Kernel.INT8: rates.int8_tops,
    }
    return Kernel.WIDENED if kernel in wanted and wanted[kernel] is None else kernel


def peak_flops(kernel: Kernel, rates: DenseRates) -> float | None:
    """Peak operations per second of the format that *kernel* multiplies in; None where nobody published one."""
    sixteen = rates.bf16_tflops or rates.fp16_tflops or rates.fp32_tflops
    found = {
        Kernel.FP8: rates.fp8_tflops,
        Kernel.FP8_BLOCK: rates.fp8_tflops,
        Kernel.FP4: rates.fp4_tflops,
        Kernel.INT8: rates.int8_tops,
        Kernel.GGML: rates.int8_tops,
    }.get(native(kernel, rates))
    found = found or sixteen
    return found * 1e12 if found else None
