"""What a request calls a model, and what that resolves to."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.answers.model import ArchitectureModel, ConfigModel, GgufModel, resolve_model
from cardmatch.catalogue.world import bundled
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.engine.terms.units import GIB

WORLD = bundled()
CONFIG: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
}
METADATA: dict[str, Any] = {
    "general.architecture": "qwen3",
    "general.file_type": 7,
    "qwen3.block_count": 36,
    "qwen3.embedding_length": 4096,
    "qwen3.feed_forward_length": 12288,
    "qwen3.attention.head_count": 32,
    "qwen3.attention.head_count_kv": 8,
    "qwen3.attention.key_length": 128,
    "qwen3.attention.value_length": 128,
    "tokenizer.ggml.tokens": 151936,
}


def test_one_model_is_the_same_however_it_is_named() -> None:
    """By id, by config.json, by GGUF metadata and by its architecture itself: Qwen3-8B has 8,190,735,360 parameters."""
    named = resolve_model(WORLD, "Qwen/Qwen3-8B")
    references = (
        ConfigModel(config=CONFIG),
        GgufModel(metadata=METADATA),
        ArchitectureModel(architecture=named.architecture),
    )
    for resolved in (named, *(resolve_model(WORLD, reference) for reference in references)):
        assert parameters(resolved.architecture).total == 8_190_735_360


def test_descriptions_say_how_weights_are_stored() -> None:
    """A config's quantisation and a GGUF file's type are the formats of their checkpoints."""
    config = {**CONFIG, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    assert resolve_model(WORLD, ConfigModel(config=config)).checkpoint.format == "fp8_block"
    assert resolve_model(WORLD, GgufModel(metadata=METADATA)).checkpoint.format == "gguf:Q8_0"


@pytest.mark.parametrize(
    ("name", "format_", "assumed"),
    [
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "bf16", True),
        ("NousResearch/Meta-Llama-3-70B-Instruct", "bf16", True),
        ("RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w4a16", "w4a16", False),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "bf16", False),
        ("huihui-ai/Huihui-gpt-oss-20b-BF16-abliterated", "bf16", False),
        ("microsoft/OptiMind-SFT", "mxfp4", True),
        ("deepseek-ai/DeepSeek-V3-0324", "fp8_block", True),
    ],
)
def test_the_same_shape_says_nothing_of_the_format(name: str, format_: str, assumed: bool) -> None:  # noqa: FBT001
    """The name decides; else 16 bits, or the format that the reference was published in: and then it is said."""
    resolved = resolve_model(WORLD, name)
    assert resolved.checkpoint.format == format_
    assert (NoticeCode.FORMAT_ASSUMED in {notice.code for notice in resolved.notices}) == assumed


def test_a_repository_is_as_large_as_its_name_says() -> None:
    """Qwen3-Next's FP8 copy takes about 76 GiB, half of its 80 billion parameters in 16 bits."""
    resolved = resolve_model(WORLD, "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8")
    size = sum(part.bytes for part in parts(resolved.architecture, resolved.checkpoint)) / GIB
    assert 74 < size < 80


@pytest.mark.parametrize(
    ("reference", "code", "pointer"),
    [
        ("no such model", FaultCode.UNKNOWN_MODEL, "/model"),
        (ConfigModel(config={"model_type": "zork"}), FaultCode.UNKNOWN_ARCHITECTURE, "/model/config/model_type"),
        (ConfigModel(config={**CONFIG, "head_dim": 0}), FaultCode.TOO_SMALL, "/model/config/head_dim"),
        (
            ConfigModel(config=CONFIG, quantization={"quant_algo": "ZIP"}),
            FaultCode.QUANTIZATION_UNKNOWN,
            "/model/quantization/quant_algo",
        ),
        (ConfigModel(config=CONFIG, safetensors={"F7": 1}), FaultCode.WRONG_VALUE, "/model/safetensors"),
        (GgufModel(metadata={}), FaultCode.GGUF_KEY_MISSING, "/model/metadata"),
        (GgufModel(metadata=METADATA, tensors=[1]), FaultCode.WRONG_TYPE, "/model/tensors/0"),
    ],
)
def test_what_is_wrong_is_named(reference: Any, code: FaultCode, pointer: str) -> None:
    """The pointer leads to the key in the request."""
    with pytest.raises(Invalid) as refused:
        resolve_model(WORLD, reference)
    assert (refused.value.faults[0].code, refused.value.faults[0].pointer) == (code, pointer)


def test_sizes_that_a_config_leaves_to_its_class_are_assumptions() -> None:
    """Gemma 3 4B's config.json says neither heads nor vocabulary: both are named with their values."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    resolved = resolve_model(WORLD, ConfigModel(config={"model_type": "gemma3", "text_config": text}))
    told = {each.pointer: each.value for each in resolved.assumptions}
    assert told["/model/config/text_config/num_attention_heads"] == 8
    assert told["/model/config/text_config/vocab_size"] == 262208
