"""Components of pipelines read from their configurations: every parameter is counted."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.catalogue.pipelines import bundled_pipelines
from cardmatch.catalogue.world import bundled
from cardmatch.engine.models.diffusion.component import Autoencoder, Component, TextEncoder, Transformer, UNet
from cardmatch.engine.models.diffusion.read import read_component
from cardmatch.engine.terms.fault import FaultCode, Invalid

DIALECTS = bundled().dialects
VAE: dict[str, Any] = {
    "_class_name": "AutoencoderKL",
    "block_out_channels": [128, 256, 512, 512],
    "latent_channels": 4,
    "layers_per_block": 2,
    "sample_size": 512,
}
SDXL: dict[str, Any] = {
    "_class_name": "UNet2DConditionModel",
    "addition_embed_type": "text_time",
    "attention_head_dim": [5, 10, 20],
    "block_out_channels": [320, 640, 1280],
    "cross_attention_dim": 2048,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
    "layers_per_block": 2,
    "projection_class_embeddings_input_dim": 2816,
    "transformer_layers_per_block": [1, 2, 10],
}
FLUX: dict[str, Any] = {"_class_name": "FluxTransformer2DModel", "guidance_embeds": True, "in_channels": 64}
T5: dict[str, Any] = {
    "architectures": ["T5EncoderModel"],
    "model_type": "t5",
    "d_model": 4096,
    "d_ff": 10240,
    "d_kv": 64,
    "num_heads": 64,
    "num_layers": 24,
    "vocab_size": 32128,
    "is_gated_act": True,
    "tie_word_embeddings": False,
}


@pytest.mark.parametrize(
    ("config", "kind", "parameters"),
    [
        pytest.param(VAE, Autoencoder, 83_653_863, id="autoencoder of Stable Diffusion and SDXL"),
        pytest.param(SDXL, UNet, 2_567_463_684, id="SDXL's UNet"),
        pytest.param(FLUX, Transformer, 11_901_408_320, id="FLUX.1-dev's transformer"),
        pytest.param({**FLUX, "guidance_embeds": False}, Transformer, 11_891_178_560, id="FLUX.1-schnell's"),
        pytest.param(T5, TextEncoder, 4_762_310_656, id="T5-XXL's encoder"),
    ],
)
def test_parameters_are_those_of_the_class(config: dict[str, Any], kind: type[Component], parameters: int) -> None:
    """Counts agree with diffusers 0.42 and transformers 5.24, which built each class without weights."""
    found = read_component(config, DIALECTS)
    assert isinstance(found, kind)
    assert found.parameters == parameters


@pytest.mark.parametrize(
    ("pipeline", "component", "parameters"),
    [
        ("runwayml/stable-diffusion-v1-5", "unet", 859_520_964),
        ("runwayml/stable-diffusion-v1-5", "safety_checker", 303_981_588),
        ("stabilityai/stable-diffusion-2-1", "unet", 865_910_724),
        ("stabilityai/stable-diffusion-3-medium-diffusers", "transformer", 2_028_328_000),
        ("stabilityai/stable-diffusion-3.5-large", "transformer", 8_056_627_520),
        ("stabilityai/stable-cascade", "prior", 3_589_103_632),
        ("stabilityai/stable-cascade", "decoder", 1_562_941_136),
        ("Qwen/Qwen-Image", "transformer", 20_430_401_088),
        ("Wan-AI/Wan2.1-T2V-14B", "transformer", 14_288_491_584),
        ("Tencent-Hunyuan/HunyuanDiT-Diffusers", "transformer", 1_516_534_048),
        ("Kwai-Kolors/Kolors", "unet", 2_579_458_820),
        ("Kwai-Kolors/Kolors", "text_encoder", 6_243_584_000),
        ("stabilityai/stable-diffusion-xl-base-1.0+refiner", "refiner", 2_259_526_660),
    ],
)
def test_bundled_components_have_published_sizes(pipeline: str, component: str, parameters: int) -> None:
    """Counts agree with classes built without weights, and with published checkpoints."""
    row = bundled_pipelines().rows[pipeline].pipeline
    assert {named.name: named.component.parameters for named in row.components}[component] == parameters


@pytest.mark.parametrize(
    ("config", "code", "pointer"),
    [
        ({"_class_name": "Zorb"}, FaultCode.CLASS_UNKNOWN, "/_class_name"),
        ({"model_type": "pixart"}, FaultCode.UNKNOWN_ARCHITECTURE, "/model_type"),
        ({**SDXL, "block_out_channels": None}, FaultCode.MISSING_FIELD, ""),
        ({**SDXL, "block_out_channels": [320, -1, 1280]}, FaultCode.TOO_SMALL, "/block_out_channels/1"),
        ({**SDXL, "down_block_types": ["AttnDownBlock2D"]}, FaultCode.WRONG_VALUE, "/down_block_types/0"),
        ({**VAE, "layers_per_block": "two"}, FaultCode.WRONG_TYPE, "/layers_per_block"),
        ({**FLUX, "num_layers": 10**9}, FaultCode.TOO_LARGE, "/num_layers"),
    ],
)
def test_what_cannot_be_read_is_named(config: dict[str, Any], code: FaultCode, pointer: str) -> None:
    """A configuration is refused with the pointer of what is wrong, never guessed."""
    with pytest.raises(Invalid) as refused:
        read_component(config, DIALECTS)
    fault = refused.value.faults[0]
    assert (fault.code, fault.pointer) == (code, pointer)
