"""Bytes of a component's weights in each number format."""

from __future__ import annotations

from cardmatch.engine.models.diffusion.component import Component, TextEncoder, Transformer
from cardmatch.engine.models.formats import FORMATS, grouped
from cardmatch.engine.models.ggml import GGML_TYPES

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
ABSENT = "absent"
BITS: dict[str, float] = {
    "fp8": 8,
    "fp8_layerwise": 8,
    "int8": 8,
    "int8_bnb": 8,
    # torchao int4 weight only: groups of 64 with a 16-bit scale and zero (quanto's groups of 128 take 0.25 less).
    "int4": grouped(4, 64, 16, 16),
    "nf4": FORMATS["nf4"].bits,
    "nf4_dq": FORMATS["nf4_dq"].bits,
}
BITSANDBYTES = frozenset({"nf4", "nf4_dq", "int8_bnb"})
FIXED = frozenset({"int8_bnb"})
"""bitsandbytes' 8-bit modules cannot be moved back to the host (diffusers, quantization/bitsandbytes)."""


def bits_of(name: str) -> float | None:
    """Bits of a quantised weight; None where the GGUF type is unknown."""
    if name.startswith("gguf:"):
        found = GGML_TYPES.get(name[5:].removesuffix("_S").removesuffix("_M").removesuffix("_L"))
        return None if found is None else found.bits
    return BITS.get(name, 16)


def weight_bytes(component: Component, name: str) -> int:
    """Bytes of *component* in format *name*, what the format's tools leave alone included.

    transformers keeps T5's feed-forward outputs in fp32 in fp16 models and under bitsandbytes
    (`_keep_in_fp32_modules`), and torchao leaves them in 16 bits, as all do with embeddings; layerwise casting skips
    norms, in diffusion transformers their modulation.
    """
    if name == ABSENT:
        return 0
    wide = component.wide_parameters if isinstance(component, TextEncoder) else 0
    if name in BYTES:
        return BYTES[name] * component.parameters + (2 * wide if name == "fp16" else 0)
    whole = component.embedding_parameters if isinstance(component, TextEncoder) else 0
    if name == "fp8_layerwise" and isinstance(component, Transformer):
        whole = component.modulation_parameters
    bits = bits_of(name) or 16
    small = component.parameters - wide - whole
    return round(bits * small / 8) + 2 * whole + (4 if name in BITSANDBYTES else 2) * wide
