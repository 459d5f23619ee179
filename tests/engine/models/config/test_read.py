"""One minimal config of each model_type gives the published parameters, cache and state."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cardmatch.engine.models.cache import CacheKind, by_layer
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.config.read import describe_config, read_config
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import FaultCode, Invalid


def test_a_config_has_the_parameters_that_were_published(minimal: dict[str, Any], dialects: Dialects) -> None:
    """Totals are those of a meta-device build or of the published tensors, MTP layers apart and towers included."""
    if minimal["refused"]:
        with pytest.raises(Invalid):
            read_config(minimal["config"], dialects)
        return
    architecture = read_config(minimal["config"], dialects)
    if minimal["parameters"] is not None:
        assert parameters(architecture).total == pytest.approx(minimal["parameters"], rel=1e-3)


def test_what_a_config_leaves_out_is_the_default_of_its_class(default: dict[str, Any], dialects: Dialects) -> None:
    """A bare `model_type` counts as many parameters as the class has that it names."""
    config = {"model_type": default["model_type"], "architectures": [default["class"]]}
    assert parameters(read_config(config, dialects, complete=False)).total == pytest.approx(
        default["parameters"], rel=1e-3
    )


def test_heads_and_gates_may_differ_by_layer(dialects: Dialects) -> None:
    """Laguna lists the query heads of each layer, and gates heads or elements."""
    config = {"model_type": "laguna", "num_hidden_layers": 2, "num_attention_heads_per_layer": [48, 64]}
    by_head = parameters(read_config(config, dialects, complete=False)).total
    by_element = parameters(read_config({**config, "gating": "per-element"}, dialects, complete=False)).total
    assert by_element - by_head == 2048 * (48 + 64) * 127


def test_a_config_has_the_cache_that_was_published(minimal: dict[str, Any], dialects: Dialects) -> None:
    """Bytes per token with and without a window, and state per sequence, in 16 bits and fp32 as the table has them."""
    if minimal["refused"] or minimal["kv_bytes_per_token_full"] is None:
        return
    growing = windowed = state = 0.0
    for row in by_layer(read_config(minimal["config"], dialects)):
        state += row.layers * (2 * row.convolution_elements + 4 * row.recurrent_elements)
        if row.kind is CacheKind.INDEXER or row.fixed_tokens:
            continue
        size = 2 * row.layers * row.elements / row.tokens_per_entry
        windowed += size if row.window_tokens else 0
        growing += 0 if row.window_tokens else size
    assert int(growing) == minimal["kv_bytes_per_token_full"]
    assert windowed == minimal["kv_bytes_per_token_sliding"]
    assert state == minimal["state_bytes_per_sequence"]


def test_a_config_is_read_within_a_millisecond(minimal: dict[str, Any], dialects: Dialects) -> None:
    """The best of several readings counts, in processor time: other work on the machine is not the reader's."""
    if minimal["refused"]:
        return
    times = []
    for _ in range(7):
        started = time.process_time_ns()
        read_config(minimal["config"], dialects)
        times.append(time.process_time_ns() - started)
    assert min(times) < 1_000_000


@pytest.mark.parametrize(
    ("config", "code", "pointer"),
    [
        ({}, FaultCode.MISSING_FIELD, ""),
        ({"model_type": ""}, FaultCode.MISSING_FIELD, ""),
        ({"architectures": ["NeverHeardOf"]}, FaultCode.UNKNOWN_ARCHITECTURE, "/model_type"),
        ({"model_type": "never_heard_of"}, FaultCode.UNKNOWN_ARCHITECTURE, "/model_type"),
        ({"model_type": ["llama"]}, FaultCode.WRONG_TYPE, "/model_type"),
        ({"model_type": "llama", "num_hidden_layers": "32"}, FaultCode.WRONG_TYPE, "/num_hidden_layers"),
        ({"model_type": "llama", "hidden_size": True}, FaultCode.WRONG_TYPE, "/hidden_size"),
        ({"model_type": "llama", "hidden_size": -1}, FaultCode.TOO_SMALL, "/hidden_size"),
        ({"model_type": "llama", "vocab_size": 10**30}, FaultCode.TOO_LARGE, "/vocab_size"),
        ({"model_type": "llama", "num_key_value_heads": 0}, FaultCode.TOO_SMALL, "/num_key_value_heads"),
        ({"model_type": "llama", "num_key_value_heads": 5}, FaultCode.NOT_DIVISIBLE, "/num_attention_heads"),
        ({"model_type": "llama", "num_attention_heads": 31}, FaultCode.NOT_DIVISIBLE, "/hidden_size"),
        ({"model_type": "llama", "head_dim": 4096}, FaultCode.CONTRADICTION, "/head_dim"),
        ({"model_type": "gemma3_text", "layer_types": ["full_attention"]}, FaultCode.CONTRADICTION, "/layer_types"),
        ({"model_type": "gemma3_text", "layer_types": ["full"] * 26}, FaultCode.WRONG_VALUE, "/layer_types/0"),
        ({"model_type": "gemma3_text", "layer_types": {}}, FaultCode.WRONG_TYPE, "/layer_types"),
        ({"model_type": "laguna", "gating": "per-layer"}, FaultCode.WRONG_VALUE, "/gating"),
        (
            {"model_type": "laguna", "num_hidden_layers": 1, "num_attention_heads_per_layer": [3]},
            FaultCode.NOT_DIVISIBLE,
            "/num_attention_heads_per_layer/0",
        ),
        ({"model_type": "mixtral", "num_experts_per_tok": 9}, FaultCode.CONTRADICTION, "/num_experts_per_tok"),
        ({"model_type": "gemma3", "text_config": []}, FaultCode.WRONG_TYPE, "/text_config"),
        (
            {"model_type": "gemma3", "text_config": {"hidden_size": 0}},
            FaultCode.TOO_SMALL,
            "/text_config/hidden_size",
        ),
    ],
)
def test_a_wrong_key_is_named(config: dict[str, Any], code: FaultCode, pointer: str, dialects: Dialects) -> None:
    """A config that cannot be right is refused with the pointer of the key that is wrong."""
    with pytest.raises(Invalid) as refused:
        read_config(config, dialects)
    (fault,) = refused.value.faults
    assert (fault.code, fault.pointer) == (code, pointer)


QWEN3_32B = {
    "model_type": "qwen3",
    "hidden_size": 5120,
    "intermediate_size": 25600,
    "num_hidden_layers": 64,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
}


@pytest.mark.parametrize(
    "name", ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
)
def test_a_config_cut_short_is_refused(name: str, dialects: Dialects) -> None:
    """No default of the class stands in for a size that every published config says: 17 billion are not 32."""
    assert parameters(read_config(QWEN3_32B, dialects)).total == 32_762_123_264
    with pytest.raises(Invalid) as refused:
        read_config({key: value for key, value in QWEN3_32B.items() if key != name}, dialects)
    assert [(fault.code, fault.params) for fault in refused.value.faults] == [
        (FaultCode.MISSING_FIELD, {"field": name})
    ]


@pytest.mark.parametrize("name", ["deepseek_v3", "llama", "mixtral", "qwen3_next", "gemma3_text", "t5", "bert"])
def test_a_type_alone_is_no_model(name: str, dialects: Dialects) -> None:
    """A `model_type` without sizes is refused, whatever its class would fill in."""
    with pytest.raises(Invalid) as refused:
        read_config({"model_type": name}, dialects)
    assert {fault.code for fault in refused.value.faults} == {FaultCode.MISSING_FIELD}


def test_what_published_configs_omit_is_filled_in_and_said(dialects: Dialects) -> None:
    """Gemma 3 4B's file says neither heads nor vocabulary (8 and 262,208 in its class): both are named as assumed."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    described = describe_config({"model_type": "gemma3", "text_config": text}, dialects)
    assert described.assumed["/text_config/num_attention_heads"] == 8
    assert described.assumed["/text_config/vocab_size"] == 262208


MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
QWEN3_MOE = {**MIXTRAL, "model_type": "qwen3_moe", "moe_intermediate_size": 768, "head_dim": 128}
QWEN3_NEXT = {**QWEN3_MOE, "model_type": "qwen3_next"}
GLM_MOE = {**QWEN3_MOE, "model_type": "glm4_moe", "n_routed_experts": 8}


@pytest.mark.parametrize(
    ("config", "code", "pointer"),
    [
        ({**MIXTRAL, "num_local_experts": 0}, FaultCode.TOO_SMALL, "/num_local_experts"),
        ({**QWEN3_MOE, "mlp_only_layers": [32]}, FaultCode.TOO_LARGE, "/mlp_only_layers/0"),
        ({**GLM_MOE, "first_k_dense_replace": 33}, FaultCode.TOO_LARGE, "/first_k_dense_replace"),
        ({**QWEN3_NEXT, "full_attention_interval": 0}, FaultCode.TOO_SMALL, "/full_attention_interval"),
        (
            {**QWEN3_NEXT, "full_attention_interval": 0, "layer_types": ["full_attention"] * 32},
            FaultCode.TOO_SMALL,
            "/full_attention_interval",
        ),
        ({**QWEN3_32B, "model_type": "gemma2", "sliding_window": 0}, FaultCode.TOO_SMALL, "/sliding_window"),
        (
            {"model_type": "gemma3", "text_config": {**QWEN3_32B, "model_type": "gemma3_text", "sliding_window": 0}},
            FaultCode.TOO_SMALL,
            "/text_config/sliding_window",
        ),
        (
            {
                "model_type": "gemma3",
                "text_config": {**QWEN3_32B, "model_type": "gemma3_text"},
                "vision_config": {"hidden_size": 0},
            },
            FaultCode.TOO_SMALL,
            "/vision_config/hidden_size",
        ),
    ],
)
def test_what_no_model_can_have_is_refused(
    config: dict[str, Any], code: FaultCode, pointer: str, dialects: Dialects
) -> None:
    """No experts in a mixture, layers beyond the last, windows and towers of nothing."""
    with pytest.raises(Invalid) as refused:
        read_config(config, dialects)
    assert (refused.value.faults[0].code, refused.value.faults[0].pointer) == (code, pointer)


def test_absent_and_null_differ_where_the_class_tells_them_apart(dialects: Dialects) -> None:
    """Without `q_lora_rank` DeepSeek-V2's class compresses queries, with null it does not."""
    base = {"model_type": "deepseek_v2", "num_experts_per_tok": 6}
    absent, null = (read_config(config, dialects, complete=False) for config in (base, {**base, "q_lora_rank": None}))
    ranks = [each.layer_groups[0].blocks[0].query_rank for each in (absent, null)]  # type: ignore[union-attr]
    assert ranks == [1536, None]


def test_qwen2_windows_are_off_unless_they_are_switched_on(dialects: Dialects) -> None:
    """Qwen2 files name a `sliding_window` that only `use_sliding_window` turns on, from `max_window_layers` on."""
    base = {"model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 28}
    (off,) = by_layer(read_config(base, dialects, complete=False))
    on = by_layer(read_config({**base, "use_sliding_window": True}, dialects, complete=False))
    assert off.kind is CacheKind.FULL
    assert {row.kind: row.layers for row in on} == {CacheKind.FULL: 28, CacheKind.SLIDING: 4}


@pytest.mark.parametrize(
    ("model_type", "rows", "longest"),
    [("xlm-roberta", 8194, 8192), ("roberta", 514, 512), ("mpnet", 514, 512), ("bert", 512, 512)],
)
def test_positions_that_padding_takes_hold_no_token(
    model_type: str, rows: int, longest: int, dialects: Dialects
) -> None:
    """RoBERTa's positions begin after that of padding: BGE-M3 has 8,194 rows and reads 8,192 tokens."""
    config = {"model_type": model_type, "max_position_embeddings": rows, "vocab_size": 1000}
    assert read_config(config, dialects, complete=False).maximum_context_tokens == longest
