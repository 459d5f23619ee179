"""Mutated descriptions of quantisation are refused with a pointer, or read to bounded bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.model import read_model
from cardmatch.engine.models.parts import parts
from tests.engine.models.mutations import mutated, read_or_refused
from tests.engine.models.quantization.test_read import GPT_OSS, LLAMA_70B, QWEN3_MOE

GROUP = {
    "targets": ["Linear"],
    "weights": {"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group", "symmetric": True},
    "input_activations": {"num_bits": 8, "type": "float"},
    "format": "pack-quantized",
}
SAMPLES: list[dict[str, Any]] = [
    {"config": LLAMA_70B, "about": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}},
    {"config": LLAMA_70B, "about": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False}},
    {
        "config": LLAMA_70B,
        "about": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    },
    {"config": QWEN3_MOE, "about": {"quant_method": "fp8", "weight_block_size": [128, 128], "ignored_layers": ["a"]}},
    {"config": GPT_OSS, "about": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}},
    {
        "config": QWEN3_MOE,
        "about": {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": {"group_0": GROUP},
            "ignore": ["lm_head", "re:.*gate$"],
            "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        },
    },
    {
        "config": QWEN3_MOE,
        "side": {
            "producer": {"name": "modelopt"},
            "quantization": {
                "quant_algo": "NVFP4",
                "kv_cache_quant_algo": "FP8",
                "group_size": 16,
                "exclude_modules": [],
            },
        },
    },
]


@given(case=mutated(SAMPLES))
@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_mutated_description_is_refused_or_bounded(case: dict[str, Any], dialects: Dialects) -> None:
    """Whatever is changed, the reader answers soon and with a fault or finite bytes."""
    config = case.get("config")
    if isinstance(config, dict) and "about" in case:
        config = {**config, "quantization_config": case["about"]}
    model = read_or_refused(lambda: read_model(config, dialects, quantization=case.get("side")))  # type: ignore[arg-type]
    if model is None:
        return
    assert all(0 <= part.bytes < 10**16 for part in parts(model.architecture, model.checkpoint))
