"""What quantised checkpoints take: shares of each part, against the sizes that their publishers list."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.model import Model, read_model
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB

LLAMA_70B = {
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
QWEN3_MOE = {
    "model_type": "qwen3_moe",
    "hidden_size": 4096,
    "num_hidden_layers": 94,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "moe_intermediate_size": 1536,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "vocab_size": 151936,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "vocab_size": 201088,
}


def gib(model: Model) -> float:
    """All parts together, in GiB."""
    return sum(part.bytes for part in parts(model.architecture, model.checkpoint)) / GIB


@pytest.mark.parametrize(
    ("config", "quantization", "size", "label"),
    [
        (LLAMA_70B, {"quant_method": "fp8", "activation_scheme": "dynamic"}, 67.66, "fp8"),
        (LLAMA_70B, {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 37.04, "awq_int4"),
        (LLAMA_70B, {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}, 67.66, "fp8"),
        (GPT_OSS, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, 60.7, "mxfp4"),
    ],
)
def test_a_quantised_checkpoint_has_its_published_size(
    config: dict[str, Any], quantization: dict[str, Any], size: float, label: str, dialects: Dialects
) -> None:
    """Logs of vLLM and sizes of files say: 67.72 GiB with rotary table, 37.04 GiB, 60.8 GiB on disk."""
    model = read_model({**config, "quantization_config": quantization}, dialects)
    assert gib(model) == pytest.approx(size, abs=0.15)
    assert model.checkpoint.format == label


def test_packed_elements_are_what_the_hub_counts(dialects: Dialects) -> None:
    """Qwen3-235B-A22B-NVFP4 lists 132,806,618,624 elements: two weights a byte, and a scale for sixteen."""
    ignored = [f"model.layers.{layer}.mlp.gate" for layer in range(94)]
    quantization = {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": [*ignored, "lm_head"]}
    model = read_model(QWEN3_MOE, dialects, quantization=quantization)
    quantised = {each.part for each in model.checkpoint.stored}
    packed = sum(
        part.elements * (0.5 + 1 / 16 if part.kind in quantised else 1)
        for part in parts(model.architecture, model.checkpoint)
    )
    assert packed == 132_806_618_624


def test_layers_that_are_spared_stay_in_16_bits(dialects: Dialects) -> None:
    """A pattern with a layer's number concerns that layer alone, one of an MTP layer none of them."""
    quantization = {
        "quant_algo": "NVFP4",
        "exclude_modules": ["model.layers.0*", "model.layers.1.self_attn*", "mtp.layers.2*"],
    }
    model = read_model({**LLAMA_70B, "quantization_config": quantization}, dialects)
    shares = {each.part: each.share for each in model.checkpoint.stored}
    assert shares == {PartKind.ATTENTION: pytest.approx(78 / 80), PartKind.DENSE: pytest.approx(79 / 80)}


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("re:.*self_attn.*", {PartKind.DENSE}),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", {PartKind.ATTENTION}),
        ("*.mlp.*", {PartKind.ATTENTION}),
        ("self_attn", {PartKind.DENSE}),
        ("lm_head", {PartKind.ATTENTION, PartKind.DENSE}),
    ],
)
def test_patterns_are_understood(pattern: str, kept: set[PartKind], dialects: Dialects) -> None:
    """Names, globs and the regular expressions that compressed-tensors writes spare whole kinds of modules."""
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
    quantization = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
        "ignore": [pattern],
    }
    model = read_model({**LLAMA_70B, "quantization_config": quantization}, dialects)
    assert {each.part for each in model.checkpoint.stored} == kept
    assert model.checkpoint.format == "w4a16"


def test_the_side_file_alone_is_enough(dialects: Dialects) -> None:
    """ModelOpt often writes only hf_quant_config.json, cache format included."""
    side = {"producer": {}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    model = read_model(LLAMA_70B, dialects, quantization=side)
    assert (model.checkpoint.format, model.checkpoint.kv_cache) == ("fp8", KvFormat.FP8_E4M3)


def test_element_counts_correct_the_bits(dialects: Dialects) -> None:
    """A GPTQ file's packed integers and scales say how many bits a weight really takes."""
    config = {**LLAMA_70B, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}
    counts = {"I32": 8_823_767_040, "F16": 2_640_000_000}
    model = read_model(config, dialects, safetensors=counts)
    assert model.checkpoint.exact
    assert gib(model) * GIB == pytest.approx(4 * counts["I32"] + 2 * counts["F16"], rel=1e-6)


@pytest.mark.parametrize(
    ("quantization", "code", "pointer"),
    [
        ({"quant_method": "magic"}, FaultCode.QUANTIZATION_UNKNOWN, "/config/quantization_config/quant_method"),
        ({"quant_method": "awq", "bits": "4"}, FaultCode.WRONG_TYPE, "/config/quantization_config/bits"),
        ({"quant_method": "gptq", "bits": 99}, FaultCode.TOO_LARGE, "/config/quantization_config/bits"),
        (["fp8"], FaultCode.WRONG_TYPE, "/config/quantization_config"),
        (
            {"quant_algo": "FP8", "ignore": ["re:(a+)+$"]},
            FaultCode.WRONG_VALUE,
            "/config/quantization_config",
        ),
    ],
)
def test_an_unreadable_quantisation_is_refused(
    quantization: Any, code: FaultCode, pointer: str, dialects: Dialects
) -> None:
    """Unknown methods, wrong types and expressions that could run for ever are named, never guessed around."""
    with pytest.raises(Invalid) as refused:
        read_model({**LLAMA_70B, "quantization_config": quantization}, dialects)
    assert (refused.value.faults[0].code, refused.value.faults[0].pointer) == (code, pointer)


@pytest.mark.parametrize("counts", [{"BF16": 5}, {"BF16": 0}, {"BF16": 705_537_064_960}, {"F16": 12_000_000_000}])
def test_counts_of_another_model_are_refused(counts: dict[str, int], dialects: Dialects) -> None:
    """Neither five elements nor ten times as many belong to 70.6 billion parameters."""
    with pytest.raises(Invalid) as refused:
        read_model(LLAMA_70B, dialects, safetensors=counts)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.CONTRADICTION, "/safetensors")


def test_two_tools_that_differ_are_not_reconciled(dialects: Dialects) -> None:
    """AWQ in config.json and FP8 in ModelOpt's side file cannot both be; the same format in both can."""
    config = {**LLAMA_70B, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    with pytest.raises(Invalid) as refused:
        read_model(config, dialects, quantization={"quantization": {"quant_algo": "FP8"}})
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (FaultCode.CONFLICTS_WITH, "/quantization")
    assert read_model(config, dialects, quantization={"quant_algo": "W4A16_AWQ"}).checkpoint.format == "awq_int4"


@pytest.mark.parametrize(
    ("bits", "code"),
    [(0, FaultCode.TOO_SMALL), ([], FaultCode.WRONG_TYPE), (2, FaultCode.WRONG_VALUE), (None, FaultCode.MISSING_FIELD)],
)
def test_bits_that_no_tool_packs_are_refused(bits: Any, code: FaultCode, dialects: Dialects) -> None:
    """compressed-tensors packs four and eight bits."""
    weights = {"num_bits": bits, "type": "int", "strategy": "group", "group_size": 128}
    quantization = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}
    with pytest.raises(Invalid) as refused:
        read_model({**LLAMA_70B, "quantization_config": quantization}, dialects)
    fault = refused.value.faults[0]
    assert fault.code is code
    assert fault.pointer.startswith("/config/quantization_config/config_groups/group_0/weights")


@pytest.mark.parametrize(
    ("bits", "code"), [(0, FaultCode.TOO_SMALL), ([], FaultCode.WRONG_TYPE), (2, FaultCode.WRONG_VALUE)]
)
def test_groups_beside_an_algorithm_are_held_to_it(bits: Any, code: FaultCode, dialects: Dialects) -> None:
    """ModelOpt writes its algorithm and groups too: what cannot be is refused in either."""
    groups = {"group_0": {"weights": {"num_bits": bits, "type": "float"}}}
    quantization = {"quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": groups}
    with pytest.raises(Invalid) as refused:
        read_model({**LLAMA_70B, "quantization_config": quantization}, dialects)
    pointer = "/config/quantization_config/config_groups/group_0/weights/num_bits"
    assert (refused.value.faults[0].code, refused.value.faults[0].pointer) == (code, pointer)
