"""What families call their matrices where it is not q_proj, k_proj, v_proj, gate_proj, up_proj or down_proj.

By the modules of transformers' modeling_*.py and of the models' own code.
"""

from __future__ import annotations

_QKV = ("q_proj", "k_proj", "v_proj")
_GATE_UP = ("gate_proj", "up_proj")
_NEOX = ("gpt_neox", "gpt_neox_japanese", "bloom", "falcon", "RefinedWeb", "RefinedWebModel", "chatglm", "persimmon")
_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "electra")
_PHI3 = ("phi3", "phi3_v", "phi4mm")

NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "c_attn": (_QKV, ("gpt2", "gpt_bigcode", "qwen")),
    "query_key_value": (_QKV, (*_NEOX, "bailing_moe", "bailing_moe_v2", "bailing_hybrid")),
    "Wqkv": (_QKV, ("mpt", "dbrx", "modernbert", "nomic_bert")),
    "qkv_proj": (_QKV, (*_PHI3, "codegen", "openelm")),
    "W_pack": (_QKV, ("baichuan",)),
    "wqkv": (_QKV, ("internlm2", "internvl_chat")),
    "gate_up_proj": (_GATE_UP, (*_PHI3, "glm", "glm4", "glm4v")),
    "dense_h_to_4h": (("up_proj",), _NEOX),
    "dense_4h_to_h": (("down_proj",), _NEOX),
    "c_fc": (("up_proj",), ("gpt2", "gpt_bigcode", "starcoder2", "gpt_neo")),
    "fc1": (("up_proj",), ("opt", "phi", "whisper")),
    "fc2": (("down_proj",), ("opt", "phi", "whisper")),
    "query": (("q_proj",), _BERT),
    "key": (("k_proj",), _BERT),
    "value": (("v_proj",), _BERT),
}
"""A name, the matrices that it stands for, and the families that have it."""


def parts_of(name: str, family: str) -> tuple[str, ...]:
    """The matrices that *family* calls *name*; none where it has no such module."""
    parts, families = NAMES.get(name, ((), ()))
    return parts if family in families else ()


def fused(family: str) -> tuple[tuple[str, ...], ...]:
    """The matrices that *family* holds as one."""
    return tuple(parts for parts, families in NAMES.values() if len(parts) > 1 and family in families)
