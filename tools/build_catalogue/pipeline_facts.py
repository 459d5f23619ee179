"""Which pipelines the catalogue has, what they are made of, and their defaults."""

from __future__ import annotations

from typing import Any, NamedTuple

from tools.build_catalogue.pipeline_parts import (
    COGVIDEOX,
    COGVIDEOX_VAE,
    HUNYUAN_CLIP,
    HUNYUAN_VIDEO,
    HUNYUAN_VIDEO_TEXT,
    HUNYUAN_VIDEO_VAE,
    LTX,
    LTX_VAE,
    MT5,
    UMT5,
    VQGAN,
    WAN_VAE,
    Stated,
)

T5, CLIP_L, BIG_G = (
    "black-forest-labs/FLUX.1-dev__text_encoder_2",
    "black-forest-labs/FLUX.1-dev__text_encoder",
    "stabilityai/stable-diffusion-xl-base-1.0__text_encoder_2",
)
SD_VAE, FLUX_VAE = "stabilityai/stable-diffusion-xl-base-1.0__vae", "black-forest-labs/FLUX.1-dev__vae"
SDXL = "stabilityai/stable-diffusion-xl-base-1.0"


class Made(NamedTuple):
    """A pipeline: components by name (a row of the index, or stated), and its defaults."""

    title: str
    components: dict[str, str | Stated]
    defaults: dict[str, Any]
    names: tuple[str, ...] = ()


_QWEN_TEXT = "Qwen/Qwen2.5-VL-7B-Instruct"
_SD35 = {"_class_name": "SD3Transformer2DModel", "joint_attention_dim": 4096, "pooled_projection_dim": 2048,
         "in_channels": 16, "patch_size": 2, "attention_head_dim": 64, "qk_norm": "rms_norm"}  # fmt: skip
_VIDEO = {"medium": "video"}
_CLIP_PAIR: dict[str, str | Stated] = {"text_encoder": CLIP_L, "text_encoder_2": BIG_G}
_SD3_TEXT: dict[str, str | Stated] = {
    "text_encoder": "stabilityai/stable-diffusion-3-medium-diffusers__text_encoder",
    "text_encoder_2": BIG_G,
    "text_encoder_3": T5,
}
_SD3_VAE = "stabilityai/stable-diffusion-3-medium-diffusers__vae"

PIPELINES: dict[str, Made] = {
    SDXL: Made(
        "SDXL 1.0",
        {**_CLIP_PAIR, "unet": f"{SDXL}__unet", "vae": SD_VAE},
        {"precision": "fp16", "upcast": True},
        ("stable diffusion xl base",),
    ),
    f"{SDXL}+refiner": Made(
        "SDXL 1.0 with its refiner",
        {
            **_CLIP_PAIR,
            "unet": f"{SDXL}__unet",
            "refiner": "stabilityai/stable-diffusion-xl-refiner-1.0__unet",
            "vae": SD_VAE,
        },
        {"precision": "fp16", "upcast": True},
        ("sdxl refiner", "sdxl with refiner", "sdxl + refiner", "sdxl+refiner"),
    ),
    "runwayml/stable-diffusion-v1-5": Made(
        "Stable Diffusion 1.5",
        {name: f"runwayml/stable-diffusion-v1-5__{name}" for name in ("text_encoder", "unet", "vae", "safety_checker")},
        {"precision": "fp16", "width_pixels": 512, "height_pixels": 512},
        ("stable diffusion 1.5", "stable diffusion v1.5"),
    ),
    "stabilityai/stable-diffusion-2-1": Made(
        "Stable Diffusion 2.1",
        {name: f"stabilityai/stable-diffusion-2-1__{name}" for name in ("text_encoder", "unet", "vae")},
        {"precision": "fp16", "width_pixels": 768, "height_pixels": 768},
        ("stable diffusion 2.1",),
    ),
    "stabilityai/stable-diffusion-3-medium-diffusers": Made(
        "Stable Diffusion 3 Medium",
        {**_SD3_TEXT, "transformer": "stabilityai/stable-diffusion-3-medium-diffusers__transformer", "vae": _SD3_VAE},
        {"precision": "fp16", "steps": 28},
        ("stabilityai/stable-diffusion-3-medium", "stable diffusion 3 medium"),
    ),
    "stabilityai/stable-diffusion-3.5-large": Made(
        "Stable Diffusion 3.5 Large",
        {
            **_SD3_TEXT,
            "transformer": Stated(
                {**_SD35, "num_layers": 38, "num_attention_heads": 38, "caption_projection_dim": 2432},
                "diffusers convert_sd3_to_diffusers.py: 38 layers, as many heads of 64 (model card: 8.1 billion)",
                counted=True,
            ),
            "vae": _SD3_VAE,
        },
        {"steps": 28},
        ("sd3.5", "sd 3.5", "sd3.5 large", "stable diffusion 3.5", "stable diffusion 3.5 large"),
    ),
    "stabilityai/stable-diffusion-3.5-medium": Made(
        "Stable Diffusion 3.5 Medium",
        {
            **_SD3_TEXT,
            "transformer": Stated(
                {
                    **_SD35,
                    "num_layers": 24,
                    "num_attention_heads": 24,
                    "caption_projection_dim": 1536,
                    "dual_attention_layers": list(range(13)),
                },
                "diffusers convert_sd3_to_diffusers.py: 24 layers, dual attention in the first 13, positions up to 384",
                counted=True,
            ),
            "vae": _SD3_VAE,
        },
        {"steps": 40},
        ("sd3.5 medium", "stable diffusion 3.5 medium"),
    ),
    "black-forest-labs/FLUX.1-dev": Made(
        "FLUX.1 [dev]",
        {
            "text_encoder": CLIP_L,
            "text_encoder_2": T5,
            "transformer": "black-forest-labs/FLUX.1-dev__transformer",
            "vae": FLUX_VAE,
        },
        {"guidance": "distilled", "steps": 28},
        ("flux.1-dev", "flux 1 dev", "flux1 dev", "flux.1"),
    ),
    "black-forest-labs/FLUX.1-schnell": Made(
        "FLUX.1 [schnell]",
        {
            "text_encoder": CLIP_L,
            "text_encoder_2": T5,
            "transformer": "black-forest-labs/FLUX.1-schnell__transformer",
            "vae": FLUX_VAE,
        },
        {"guidance": "distilled", "steps": 4},
        ("flux.1 schnell", "flux 1 schnell"),
    ),
    "stabilityai/stable-cascade": Made(
        "Stable Cascade",
        {
            "text_encoder": BIG_G,
            "prior": "stabilityai/stable-cascade-prior__prior",
            "decoder": "stabilityai/stable-cascade__decoder",
            "vqgan": VQGAN,
        },
        {"steps": 20},
        ("stabilityai/stable-cascade-prior",),
    ),
    "Qwen/Qwen-Image": Made(
        "Qwen-Image",
        {"text_encoder": _QWEN_TEXT, "transformer": "Qwen/Qwen-Image__transformer", "vae": WAN_VAE},
        {"guidance": "sequential", "width_pixels": 1328, "height_pixels": 1328},
        ("千问文生图", "千问图像"),
    ),
    "Wan-AI/Wan2.1-T2V-14B": Made(
        "Wan 2.1 T2V 14B",
        {"text_encoder": UMT5, "transformer": "Wan-AI/Wan2.1-T2V-14B__transformer", "vae": WAN_VAE},
        {**_VIDEO, "guidance": "sequential", "width_pixels": 1280, "height_pixels": 720, "frames": 81},
        ("wan2.1", "wan 2.1 14b", "wan2.1 t2v", "万相 2.1", "万相2.1", "Wan-AI/Wan2.1-T2V-14B-Diffusers"),
    ),
    "Tencent-Hunyuan/HunyuanDiT-Diffusers": Made(
        "HunyuanDiT",
        {
            "text_encoder": HUNYUAN_CLIP,
            "text_encoder_2": MT5,
            "transformer": "Tencent-Hunyuan/HunyuanDiT-Diffusers__transformer",
            "vae": SD_VAE,
        },
        {"precision": "fp16"},
    ),
    "Kwai-Kolors/Kolors": Made(
        "Kolors",
        {"text_encoder": "Kwai-Kolors/Kolors__text_encoder", "unet": "Kwai-Kolors/Kolors__unet", "vae": SD_VAE},
        {"precision": "fp16", "upcast": True},
        ("Kwai-Kolors/Kolors-diffusers",),
    ),
    "tencent/HunyuanVideo": Made(
        "HunyuanVideo",
        {
            "text_encoder": HUNYUAN_VIDEO_TEXT,
            "text_encoder_2": CLIP_L,
            "transformer": HUNYUAN_VIDEO,
            "vae": HUNYUAN_VIDEO_VAE,
        },
        {**_VIDEO, "guidance": "distilled", "width_pixels": 1280, "height_pixels": 720, "frames": 129},
        ("hunyuanvideo", "hunyuan video", "混元视频", "混元 video", "hunyuanvideo-community/HunyuanVideo"),
    ),
    "THUDM/CogVideoX-5b": Made(
        "CogVideoX 5B",
        {
            "text_encoder": T5,
            "transformer": COGVIDEOX,
            "vae": COGVIDEOX_VAE,
        },
        {**_VIDEO, "width_pixels": 720, "height_pixels": 480, "frames": 49},
        ("cogvideox", "cogvideox 5b", "cogvideo", "zai-org/CogVideoX-5b"),
    ),
    "Lightricks/LTX-Video": Made(
        "LTX-Video",
        {
            "text_encoder": T5,
            "transformer": LTX,
            "vae": LTX_VAE,
        },
        {**_VIDEO, "width_pixels": 768, "height_pixels": 512, "frames": 161},
        ("ltx", "ltx video", "ltx-video"),
    ),
}
