"""The tensor types of GGUF files: elements and bytes per block (ggml/src/ggml-common.h, static asserts)."""

from __future__ import annotations

import msgspec


class GgmlType(msgspec.Struct, frozen=True):
    """A block of `elements` takes `bytes` bytes."""

    elements: int
    bytes: int

    @property
    def bits(self) -> float:
        """Bits per element."""
        return self.bytes * 8 / self.elements


GGML_TYPES: dict[str, GgmlType] = {
    "F32": GgmlType(1, 4),
    "F16": GgmlType(1, 2),
    "BF16": GgmlType(1, 2),
    "F64": GgmlType(1, 8),
    "I8": GgmlType(1, 1),
    "I16": GgmlType(1, 2),
    "I32": GgmlType(1, 4),
    "I64": GgmlType(1, 8),
    "Q4_0": GgmlType(32, 18),
    "Q4_1": GgmlType(32, 20),
    "Q5_0": GgmlType(32, 22),
    "Q5_1": GgmlType(32, 24),
    "Q8_0": GgmlType(32, 34),
    "Q8_1": GgmlType(32, 36),
    "Q2_K": GgmlType(256, 84),
    "Q3_K": GgmlType(256, 110),
    "Q4_K": GgmlType(256, 144),
    "Q5_K": GgmlType(256, 176),
    "Q6_K": GgmlType(256, 210),
    "Q8_K": GgmlType(256, 292),
    "IQ1_S": GgmlType(256, 50),
    "IQ1_M": GgmlType(256, 56),
    "IQ2_XXS": GgmlType(256, 66),
    "IQ2_XS": GgmlType(256, 74),
    "IQ2_S": GgmlType(256, 82),
    "IQ3_XXS": GgmlType(256, 98),
    "IQ3_S": GgmlType(256, 110),
    "IQ4_XS": GgmlType(256, 136),
    "IQ4_NL": GgmlType(32, 18),
    "TQ1_0": GgmlType(256, 54),
    "TQ2_0": GgmlType(256, 66),
    "MXFP4": GgmlType(32, 17),
    "NVFP4": GgmlType(64, 36),
    "Q1_0": GgmlType(128, 18),
    "Q2_0": GgmlType(64, 18),
    # ik_llama.cpp only (its ggml-common.h), without the few bytes of scale per row.
    "IQ1_KT": GgmlType(256, 56),
    "IQ2_KT": GgmlType(256, 68),
    "IQ2_KS": GgmlType(256, 70),
    "IQ2_K": GgmlType(256, 76),
    "IQ3_KT": GgmlType(256, 100),
    "IQ3_KS": GgmlType(256, 102),
    "IQ3_K": GgmlType(256, 110),
    "IQ4_KT": GgmlType(256, 128),
    "IQ4_KSS": GgmlType(256, 128),
    "IQ4_KS": GgmlType(256, 136),
    "IQ4_K": GgmlType(256, 144),
    "IQ5_KS": GgmlType(256, 168),
    "IQ5_K": GgmlType(256, 176),
    "IQ6_K": GgmlType(256, 212),
}

# The numbers by which GGUF files name tensor types (ggml.h, enum ggml_type).
GGML_NUMBERS: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    30: "BF16",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
    40: "NVFP4",
}

# `general.file_type` (llama.h, enum llama_ftype): which mix a file was made with.
FILE_TYPES: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
}
