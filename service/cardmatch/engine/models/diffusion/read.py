"""From the configuration of a pipeline's component to its struct: one reader per class, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.config.read import read_config
from cardmatch.engine.models.diffusion.autoencoder import read_autoencoder
from cardmatch.engine.models.diffusion.cascade import read_cascade
from cardmatch.engine.models.diffusion.component import Component
from cardmatch.engine.models.diffusion.crossed import read_hunyuan_dit, read_wan
from cardmatch.engine.models.diffusion.joint import read_flux, read_qwen_image, read_sd3
from cardmatch.engine.models.diffusion.text import read_clip, read_safety_checker, text_encoder
from cardmatch.engine.models.diffusion.unet import read_unet
from cardmatch.engine.terms.fault import FaultCode, refusal

READERS: dict[str, Callable[[Keys], Component]] = {
    "UNet2DConditionModel": read_unet,
    "FluxTransformer2DModel": read_flux,
    "SD3Transformer2DModel": read_sd3,
    "QwenImageTransformer2DModel": read_qwen_image,
    "HunyuanDiT2DModel": read_hunyuan_dit,
    "WanModel": read_wan,
    "WanTransformer3DModel": read_wan,
    "StableCascadeUNet": read_cascade,
    "AutoencoderKL": read_autoencoder,
    "CLIPTextModel": read_clip,
    "CLIPTextModelWithProjection": read_clip,
    "StableDiffusionSafetyChecker": read_safety_checker,
}
_NAMES = {
    "in_channels": ("in_channels", "in_dim"),
    "out_channels": ("out_channels", "out_dim"),
    "num_attention_heads": ("num_attention_heads", "num_heads"),
}


def read_component(config: Mapping[str, Any], dialects: Dialects) -> Component:
    """The component that *config* describes; any language model that is read elsewhere may be a text encoder.

    Raises Invalid: an unknown class is one, too, or an unknown_architecture where a model type is given.
    """
    for name in _classes(config):
        if name in READERS:
            return READERS[name](Keys(config, names=_NAMES))
    own = config.get("_class_name")
    if isinstance(own, str) and "model_type" not in config:
        raise refusal(FaultCode.CLASS_UNKNOWN, "/_class_name", name=own[:64])
    return text_encoder(read_config(config, dialects))


def _classes(config: Mapping[str, Any]) -> list[str]:
    own, listed = config.get("_class_name"), config.get("architectures")
    return [name for name in (own, *(listed if isinstance(listed, list) else ())) if isinstance(name, str)]
