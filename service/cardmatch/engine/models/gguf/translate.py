"""From GGUF's keys to those of config.json, so that each family has one reader."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import divisible
from cardmatch.engine.models.gguf.metadata import Metadata
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

_PLAIN = {
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.value_length": "v_head_dim",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.sliding_window": "sliding_window",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "leading_dense_block_count": "first_k_dense_replace",
    "nextn_predict_layers": "num_nextn_predict_layers",
    "interleave_moe_layer_step": "interleave_moe_layer_step",
    "moe_latent_size": "moe_latent_size",
    "full_attention_interval": "full_attention_interval",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.indexer.head_count": "index_n_heads",
    "attention.indexer.key_length": "index_head_dim",
    "attention.shared_kv_layers": "num_kv_shared_layers",
    "embedding_length_per_layer_input": "hidden_size_per_layer_input",
    "altup.num_inputs": "altup_num_inputs",
    "shortconv.l_cache": "conv_L_cache",
    "decoder_block_count": "num_decoder_layers",
}


# What every file states, so that no default of a class stands in for it.
STATED = frozenset(
    (
        *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "head_dim"),
        *("num_key_value_heads", "max_position_embeddings", "num_experts", "num_experts_per_tok", "v_head_dim"),
        *("moe_intermediate_size", "shared_expert_intermediate_size", "n_shared_experts", "first_k_dense_replace"),
        *("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "index_n_heads", "expansion_ratio"),
    )
)
_HANDLED = 7
"""The first keys of the table are read with more care below."""
_SPELLED = {spelled: key for key, spelled in _PLAIN.items()}


def in_gguf_words(wrong: Invalid, metadata: Metadata) -> Invalid:
    """The same faults about GGUF's keys, where they speak of those of config.json."""
    return Invalid(*(_in_gguf_words(fault, metadata) for fault in wrong.faults))


def _in_gguf_words(fault: Fault, metadata: Metadata) -> Fault:
    field = fault.params.get("field")
    if isinstance(field, str):
        params: Params = {"field": metadata.key(_SPELLED.get(field, field))}
        return Fault(code=FaultCode.GGUF_KEY_MISSING, pointer="", params=params)
    first, _, rest = fault.pointer.removeprefix("/").partition("/")
    pointer = metadata.pointer(_SPELLED[first]) if first in _SPELLED else fault.pointer
    return msgspec.structs.replace(fault, pointer=f"{pointer}/{rest}" if rest and first in _SPELLED else pointer)


def translated(metadata: Metadata, name: str, family: Family) -> dict[str, Any]:
    """The metadata as a config.json of family *name* would say it. Raises Invalid."""
    layers = metadata.layers - (metadata.maybe("nextn_predict_layers", high=16) or 0)
    config: dict[str, Any] = {
        "model_type": name,
        "num_hidden_layers": max(layers, 1),
        "hidden_size": metadata.size("embedding_length"),
        "vocab_size": metadata.vocabulary(),
    }
    for key, spelled in list(_PLAIN.items())[_HANDLED:]:
        value = None if metadata.varies(key) else metadata.maybe(key)
        if value is not None:
            config[spelled] = value
    config |= _heads(metadata, config["hidden_size"]) | _widths(metadata, family)
    config |= _layer_types(metadata, family, max(layers, 1))
    for part in (_latent, _state_space):
        config |= part(metadata, family)
    if family.reader == "gemma_four":
        config |= _two_geometries(metadata)
    return config


def _heads(metadata: Metadata, hidden: int) -> dict[str, Any]:
    """Heads and their sizes; absent key lengths are the embedding divided by the heads, absent counts all heads."""
    if not metadata.has("attention.head_count"):
        return {}
    heads = max(metadata.array("attention.head_count"))
    if not heads:
        return {}
    kv_heads = max(metadata.array("attention.head_count_kv")) if metadata.has("attention.head_count_kv") else heads
    if not kv_heads:
        metadata.none("attention.head_count_kv")
    size = metadata.maybe("attention.key_length")
    if not size:
        pointer = metadata.pointer("embedding_length")
        size = divisible(hidden, pointer, divisor=heads, other=metadata.pointer("attention.head_count"))
    found = {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": size}
    values = metadata.maybe("attention.value_length")
    return found | ({"v_head_dim": values} if values and values != size else {})


def _widths(metadata: Metadata, family: Family) -> dict[str, Any]:
    """Width of feed-forwards; some families call an expert's width what others call the dense one's."""
    experts = metadata.maybe("expert_feed_forward_length")
    rule = family.experts
    if experts and rule is not None and rule.width == "intermediate_size" and rule.shared != "dense_count":
        return {"intermediate_size": experts}
    if family.reader == "llama_four":
        return {"intermediate_size": experts, "intermediate_size_mlp": metadata.maybe("feed_forward_length")}
    if not metadata.has("feed_forward_length"):
        return {}
    widths = metadata.array("feed_forward_length")
    if family.reader == "gemma_three_n":
        return {"intermediate_size": widths}
    narrow = min((width for width in widths if width), default=0)
    found: dict[str, Any] = {"intermediate_size": narrow or None}
    if family.reader == "gemma_four" and max(widths) == 2 * narrow:
        found["use_double_wide_mlp"] = True
    return found | {"block_auto_adjust_ff_dim": False}


def _layer_types(metadata: Metadata, family: Family, layers: int) -> dict[str, Any]:
    """Kinds of layers: what slides, and, in hybrids, what has no attention at all (no key-value heads)."""
    pattern = metadata.values.get(metadata.key("attention.sliding_window_pattern"))
    if isinstance(pattern, list):
        slides = metadata.array("attention.sliding_window_pattern", high=1)[:layers]
        return {"layer_types": ["sliding_attention" if each else "full_attention" for each in slides]}
    if pattern is not None and family.reader in {"decoder", "gemma_four", "gemma_three_n"}:
        return {"sliding_window_pattern": metadata.maybe("attention.sliding_window_pattern", low=1)}
    if not metadata.varies("attention.head_count_kv") or family.reader == "gemma_four":
        return {}
    attends = metadata.array("attention.head_count_kv")[:layers]
    other = {"convolution": "conv", "gated_delta": "linear_attention", "hybrid": "mamba"}.get(family.reader)
    if family.reader == "nemotron_h":
        return {"hybrid_override_pattern": _letters(metadata, attends)}
    if other is None:
        return {}
    return {"layer_types": ["full_attention" if heads else other for heads in attends]}


def _letters(metadata: Metadata, attends: list[int]) -> str:
    """Nemotron-H's pattern: a feed-forward has a width, attention has heads, the rest are Mamba layers."""
    widths = metadata.array("feed_forward_length") if metadata.has("feed_forward_length") else [0] * metadata.layers
    feed_forward = "E" if metadata.maybe("expert_count") else "-"
    return "".join(
        feed_forward if width else "*" if heads else "M" for heads, width in zip(attends, widths, strict=False)
    )


def _latent(metadata: Metadata, family: Family) -> dict[str, Any]:
    """Sizes of multi-head latent attention; older files give the expanded heads' lengths instead of `…_mla`."""
    if not metadata.has("attention.kv_lora_rank") or family.reader not in {"latent", "kimi_linear"}:
        return {}
    rope = metadata.size("rope.dimension_count")
    keys = metadata.maybe("attention.key_length_mla") or metadata.size("attention.key_length")
    values = metadata.maybe("attention.value_length_mla") or metadata.size("attention.value_length")
    found = {"qk_rope_head_dim": rope, "qk_nope_head_dim": keys - rope, "v_head_dim": values, "head_dim": None}
    return found | ({} if metadata.has("attention.q_lora_rank") else {"q_lora_rank": None})


def _state_space(metadata: Metadata, family: Family) -> dict[str, Any]:
    """Sizes of state-space layers, and of gated delta rule, which GGUF writes under the same keys."""
    if not metadata.has("ssm.conv_kernel"):
        return {}
    kernel, inner = metadata.size("ssm.conv_kernel"), metadata.size("ssm.inner_size")
    state, rank = metadata.size("ssm.state_size"), metadata.size("ssm.time_step_rank")
    groups = metadata.maybe("ssm.group_count") or 1
    if family.reader == "gated_delta":
        other = metadata.pointer("ssm.time_step_rank")
        return {
            "linear_conv_kernel_dim": kernel,
            "linear_num_key_heads": groups,
            "linear_num_value_heads": rank,
            "linear_key_head_dim": state,
            "linear_value_head_dim": divisible(inner, metadata.pointer("ssm.inner_size"), divisor=rank, other=other),
        }
    names = family.names
    return {
        names.get(spelled, (spelled,))[0]: value
        for spelled, value in (
            ("mamba_d_conv", kernel),
            ("mamba_inner_size", inner),
            ("mamba_d_state", state),
            ("mamba_n_groups", groups),
            ("mamba_n_heads" if family.version == 2 else "mamba_dt_rank", rank),
        )
    } | ({"mamba_d_head": None, names.get("mamba_d_head", ("mamba_d_head",))[0]: None} if family.version == 2 else {})


def _two_geometries(metadata: Metadata) -> dict[str, Any]:
    """Gemma 4: full layers have other heads than sliding ones; equal keys and values go with fewer heads."""
    found: dict[str, Any] = {"global_head_dim": metadata.size("attention.key_length")}
    found["head_dim"] = metadata.maybe("attention.key_length_swa") or found["global_head_dim"]
    if metadata.varies("attention.head_count_kv"):
        heads = metadata.array("attention.head_count_kv", low=1)
        found |= {
            "num_key_value_heads": max(heads),
            "num_global_key_value_heads": min(heads),
            "attention_k_eq_v": True,
        }
    if metadata.maybe("expert_count"):
        found["enable_moe_block"] = True
    if not metadata.has("embedding_length_per_layer_input"):
        found["hidden_size_per_layer_input"] = 0
    return found
