"""llama.cpp's quantisation mixes as data: which tensors get a richer type than the mix's base.

Read from src/llama-quant.cpp (llama_tensor_get_type), August 2026; imatrix assumed, as published files have it. The
types of the ik_llama.cpp fork are listed with their base type alone.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Where(StrEnum):
    """For which layers or models a rule holds."""

    ALL = "all"
    GROUPED = "grouped"
    EIGHT_EXPERTS = "eight_experts"
    SEVENTY_BILLION = "seventy_billion"
    MORE_BITS = "more_bits"
    FIRST_EIGHTH = "first_eighth"
    FIRST_SIXTEENTH = "first_sixteenth"
    FIRST_LAYERS = "first_layers"


class Rule(msgspec.Struct, frozen=True):
    """Matrices called *role* get *type* where *where* holds; earlier rules come first."""

    role: str
    where: Where
    type: str
    layers: int = 0


class Mix(msgspec.Struct, frozen=True):
    """A file type: base tensor type, output matrix, token embedding, and exceptions."""

    base: str
    output: str
    embedding: str
    rules: tuple[Rule, ...] = ()


# llama.cpp falls back when a row is no multiple of the block.
FALLBACK = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"), "IQ4_NL"),
    **dict.fromkeys(("Q2_K", "Q3_K", "TQ1_0", "TQ2_0"), "IQ4_NL"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
    **dict.fromkeys(("IQ4_NL", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0"), "F16"),
}


def _rules(*rules: tuple[str, Where, str] | tuple[str, Where, str, int]) -> tuple[Rule, ...]:
    return tuple(Rule(*rule) for rule in rules)


_EIGHT = _rules(("v_proj", Where.EIGHT_EXPERTS, "Q8_0"), ("k_proj", Where.EIGHT_EXPERTS, "Q8_0"))
_EIGHT_OUTPUT = (*_EIGHT, Rule("o_proj", Where.EIGHT_EXPERTS, "Q5_K"))
_SEVENTY = _rules(("v_proj", Where.SEVENTY_BILLION, "Q5_K"))
_LOW_GROUPED = _rules(
    ("k_proj", Where.EIGHT_EXPERTS, "Q4_K"),
    ("o_proj", Where.EIGHT_EXPERTS, "Q5_K"),
    ("v_proj", Where.GROUPED, "Q4_K"),
)
_IQ2 = (*_LOW_GROUPED, *_rules(("v_proj", Where.ALL, "Q2_K"), ("down_proj", Where.FIRST_EIGHTH, "Q2_K")))
_IQ1 = (*_IQ2, Rule("o_proj", Where.ALL, "IQ2_XXS"))
_IQ2_S = (
    *_LOW_GROUPED,
    *_rules(("v_proj", Where.ALL, "IQ3_S"), ("down_proj", Where.FIRST_EIGHTH, "IQ3_S"), ("o_proj", Where.ALL, "IQ3_S")),
)

_MXFP4 = Mix(
    "Q8_0",
    "Q8_0",
    "Q8_0",
    _rules(*((f"experts.{role}", Where.ALL, "MXFP4") for role in ("gate_proj", "up_proj", "down_proj"))),
)
_FORK = ("IQ2_KS", "IQ2_K", "IQ3_KS", "IQ3_K", "IQ4_KSS", "IQ4_KS", "IQ4_K", "IQ5_KS", "IQ5_K", "IQ6_K")
_TRELLIS = ("IQ1_KT", "IQ2_KT", "IQ3_KT", "IQ4_KT")

MIXES: dict[str, Mix] = {
    **{name: Mix(name, "Q6_K", name) for name in (*_FORK, *_TRELLIS)},
    "F32": Mix("F32", "F32", "F32"),
    "F16": Mix("F16", "F16", "F16"),
    "BF16": Mix("BF16", "BF16", "BF16"),
    "Q4_0": Mix("Q4_0", "Q6_K", "Q4_0", (*_EIGHT, Rule("down_proj", Where.FIRST_EIGHTH, "Q4_1"))),
    "Q4_1": Mix("Q4_1", "Q6_K", "Q4_1", _EIGHT),
    "Q5_0": Mix("Q5_0", "Q6_K", "Q5_0", (*_EIGHT, Rule("down_proj", Where.FIRST_EIGHTH, "Q5_1"))),
    "Q5_1": Mix("Q5_1", "Q6_K", "Q5_1", _EIGHT),
    "Q8_0": Mix("Q8_0", "Q8_0", "Q8_0"),
    "Q2_K": Mix(
        "Q2_K",
        "Q6_K",
        "Q2_K",
        _EIGHT_OUTPUT
        + _rules(
            ("v_proj", Where.GROUPED, "Q4_K"),
            ("v_proj", Where.ALL, "Q3_K"),
            ("down_proj", Where.ALL, "Q3_K"),
            ("o_proj", Where.ALL, "Q3_K"),
        ),
    ),
    "Q2_K_S": Mix(
        "Q2_K",
        "Q6_K",
        "Q2_K",
        _EIGHT + _rules(("v_proj", Where.GROUPED, "Q4_K"), ("down_proj", Where.FIRST_EIGHTH, "Q4_K")),
    ),
    "Q3_K_S": Mix("Q3_K", "Q6_K", "Q3_K", _EIGHT_OUTPUT + _SEVENTY),
    "Q3_K_M": Mix(
        "Q3_K",
        "Q6_K",
        "Q3_K",
        _EIGHT_OUTPUT
        + _SEVENTY
        + _rules(
            ("v_proj", Where.FIRST_LAYERS, "Q5_K", 2),
            ("v_proj", Where.ALL, "Q4_K"),
            ("down_proj", Where.FIRST_SIXTEENTH, "Q5_K"),
            ("down_proj", Where.ALL, "Q4_K"),
            ("o_proj", Where.ALL, "Q4_K"),
            ("in_proj_qkvz", Where.ALL, "Q4_K"),
        ),
    ),
    "Q3_K_L": Mix(
        "Q3_K",
        "Q6_K",
        "Q3_K",
        _EIGHT
        + _rules(
            ("v_proj", Where.ALL, "Q5_K"),
            ("down_proj", Where.ALL, "Q5_K"),
            ("o_proj", Where.ALL, "Q5_K"),
            ("in_proj_qkvz", Where.ALL, "Q4_K"),
        ),
    ),
    "Q4_K_S": Mix(
        "Q4_K",
        "Q6_K",
        "Q4_K",
        _EIGHT_OUTPUT
        + _SEVENTY
        + _rules(("v_proj", Where.FIRST_LAYERS, "Q5_K", 4), ("down_proj", Where.FIRST_EIGHTH, "Q5_K")),
    ),
    "Q4_K_M": Mix(
        "Q4_K",
        "Q6_K",
        "Q4_K",
        _EIGHT_OUTPUT
        + _rules(
            ("v_proj", Where.MORE_BITS, "Q6_K"),
            ("v_proj", Where.SEVENTY_BILLION, "Q5_K"),
            ("down_proj", Where.MORE_BITS, "Q6_K"),
            ("in_proj_qkvz", Where.ALL, "Q5_K"),
        ),
    ),
    "Q5_K_S": Mix("Q5_K", "Q6_K", "Q5_K", _EIGHT),
    "Q5_K_M": Mix(
        "Q5_K",
        "Q6_K",
        "Q5_K",
        _EIGHT
        + _rules(
            ("v_proj", Where.MORE_BITS, "Q6_K"),
            ("down_proj", Where.MORE_BITS, "Q6_K"),
            ("in_proj_qkvz", Where.ALL, "Q6_K"),
        ),
    ),
    "Q6_K": Mix("Q6_K", "Q6_K", "Q6_K", _EIGHT),
    "IQ1_S": Mix("IQ1_S", "Q5_K", "Q2_K", _IQ1),
    "IQ1_M": Mix("IQ1_M", "Q5_K", "Q2_K", _IQ1),
    "IQ2_XXS": Mix("IQ2_XXS", "Q5_K", "Q2_K", _IQ2),
    "IQ2_XS": Mix("IQ2_XS", "Q5_K", "Q2_K", _IQ2),
    "IQ2_S": Mix("IQ2_XS", "Q5_K", "IQ3_S", _IQ2_S),
    "IQ2_M": Mix("IQ2_S", "Q5_K", "IQ3_S", _IQ2_S),
    "IQ3_XXS": Mix(
        "IQ3_XXS",
        "Q5_K",
        "IQ3_S",
        _EIGHT_OUTPUT
        + _rules(
            ("v_proj", Where.GROUPED, "Q4_K"),
            ("q_proj", Where.ALL, "IQ2_S"),
            ("k_proj", Where.ALL, "IQ2_S"),
            ("o_proj", Where.ALL, "IQ3_S"),
        ),
    ),
    "IQ3_XS": Mix(
        "IQ3_S",
        "Q6_K",
        "IQ3_S",
        _EIGHT_OUTPUT
        + _rules(("v_proj", Where.GROUPED, "Q4_K"), ("q_proj", Where.ALL, "IQ3_XXS"), ("k_proj", Where.ALL, "IQ3_XXS")),
    ),
    "IQ3_S": Mix("IQ3_S", "Q6_K", "IQ3_S", (*_EIGHT_OUTPUT, Rule("v_proj", Where.GROUPED, "Q4_K"))),
    "IQ3_M": Mix(
        "IQ3_S",
        "Q6_K",
        "IQ3_S",
        _EIGHT_OUTPUT
        + _rules(
            ("v_proj", Where.ALL, "Q4_K"),
            ("down_proj", Where.FIRST_EIGHTH, "Q4_K"),
            ("o_proj", Where.ALL, "Q4_K"),
            ("in_proj_qkvz", Where.ALL, "Q4_K"),
        ),
    ),
    "IQ4_XS": Mix("IQ4_XS", "Q6_K", "IQ4_XS", (*_EIGHT_OUTPUT, Rule("v_proj", Where.GROUPED, "Q5_K"))),
    "IQ4_NL": Mix("IQ4_NL", "Q6_K", "IQ4_NL", (*_EIGHT_OUTPUT, Rule("v_proj", Where.GROUPED, "Q5_K"))),
    "TQ1_0": Mix("TQ1_0", "Q6_K", "Q4_K"),
    "TQ2_0": Mix("TQ2_0", "Q6_K", "Q4_K"),
    "MXFP4": _MXFP4,
    "MXFP4_MOE": _MXFP4,
    "NVFP4": Mix("NVFP4", "Q6_K", "Q6_K"),
    "Q1_0": Mix("Q1_0", "Q1_0", "Q1_0"),
    "Q2_0": Mix("Q2_0", "Q2_0", "Q2_0"),
}
