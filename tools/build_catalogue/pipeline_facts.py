"""What no configuration in the transcribed sources says of pipelines: components by their papers and model cards.

Every fact here has basis `rule_of_thumb` in the catalogue, and the source beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cardmatch.engine.models.diffusion.component import Autoencoder, Component, TextEncoder, Transformer

T5, CLIP_L, BIG_G = (
    "black-forest-labs/FLUX.1-dev__text_encoder_2",
    "black-forest-labs/FLUX.1-dev__text_encoder",
    "stabilityai/stable-diffusion-xl-base-1.0__text_encoder_2",
)
SD_VAE, FLUX_VAE = "stabilityai/stable-diffusion-xl-base-1.0__vae", "black-forest-labs/FLUX.1-dev__vae"
SDXL = "stabilityai/stable-diffusion-xl-base-1.0"


class Stated(NamedTuple):
    """A component of which there is no configuration, or a configuration known from elsewhere."""

    what: Component | dict[str, Any]
    source: str


class Made(NamedTuple):
    """A pipeline: components by name (a row of the index, or stated), and its defaults."""

    title: str
    components: dict[str, str | Stated]
    defaults: dict[str, Any]
    names: tuple[str, ...] = ()


_WAN_VAE = Stated(
    Autoencoder(
        parameters=127_000_000,
        block_parameters=30_000_000,
        matrix_parameters=4_000_000,
        decoder_channels=192,
        encoder_channels=96,
        latent_channels=16,
        temporal=4,
        frames_at_once=4,
        tile_pixels=256,
    ),
    "Wan technical report (arXiv 2503.20314) §4.1: 127 M parameters, 4 × 8 × 8, decoded latent frame by latent frame",
)
_UMT5 = Stated(
    TextEncoder(
        parameters=5_680_910_336,
        block_parameters=192_937_984,
        matrix_parameters=1_050_673_152,
        width=4096,
        layers=24,
        tokens=512,
        embedding_parameters=1_050_673_152,
    ),
    "umT5-XXL: the shape of T5-XXL's encoder with a vocabulary of 256,384 (Wan technical report §4.3)",
)
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
        {
            name: f"runwayml/stable-diffusion-v1-5__{name}"
            for name in ("text_encoder", "unet", "vae", "safety_checker")
        },
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
                "model card: 8.1 billion parameters, depth 38 (SD3 paper, arXiv 2403.03206 §5.3: width 64 × depth)",
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
                "model card: MMDiT-X, 2.5 billion parameters, dual attention in the first 13 layers",
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
            "vqgan": Stated(
                Autoencoder(
                    parameters=18_406_000,
                    block_parameters=2_000_000,
                    matrix_parameters=1_000_000,
                    decoder_channels=192,
                    encoder_channels=192,
                    latent_channels=4,
                    compression=4,
                ),
                "Würstchen (arXiv 2306.00637) table 1: stage A, 18 M parameters, 4 × 4",
            ),
        },
        {"steps": 20},
        ("stabilityai/stable-cascade-prior",),
    ),
    "Qwen/Qwen-Image": Made(
        "Qwen-Image",
        {"text_encoder": _QWEN_TEXT, "transformer": "Qwen/Qwen-Image__transformer", "vae": _WAN_VAE},
        {"guidance": "sequential", "width_pixels": 1328, "height_pixels": 1328},
        ("千问文生图", "千问图像"),
    ),
    "Wan-AI/Wan2.1-T2V-14B": Made(
        "Wan 2.1 T2V 14B",
        {"text_encoder": _UMT5, "transformer": "Wan-AI/Wan2.1-T2V-14B__transformer", "vae": _WAN_VAE},
        {**_VIDEO, "guidance": "sequential", "width_pixels": 1280, "height_pixels": 720, "frames": 81},
        ("wan2.1", "wan 2.1 14b", "wan2.1 t2v", "万相 2.1", "万相2.1", "Wan-AI/Wan2.1-T2V-14B-Diffusers"),
    ),
    "Tencent-Hunyuan/HunyuanDiT-Diffusers": Made(
        "HunyuanDiT",
        {
            "text_encoder": Stated(
                TextEncoder(parameters=350_000_000, width=1024, layers=24, tokens=77),
                "Hunyuan-DiT (arXiv 2405.08748) §2.1: a bilingual CLIP of 350 M parameters",
            ),
            "text_encoder_2": Stated(
                TextEncoder(parameters=1_670_000_000, width=2048, layers=24, tokens=256),
                "Hunyuan-DiT (arXiv 2405.08748) §2.1: the encoder of mT5-XL, 1.6 B parameters",
            ),
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
            "text_encoder": Stated(
                TextEncoder(
                    parameters=8_030_000_000,
                    block_parameters=218_112_000,
                    matrix_parameters=525_336_576,
                    width=4096,
                    layers=32,
                    tokens=256,
                    embedding_parameters=525_336_576,
                ),
                "HunyuanVideo (arXiv 2412.03603) §4.4: a Llama-3-8B of LLaVA as text encoder",
            ),
            "text_encoder_2": CLIP_L,
            "transformer": Stated(
                Transformer(
                    parameters=13_000_000_000,
                    block_parameters=453_000_000,
                    matrix_parameters=56_641_536,
                    width=3072,
                    layers=60,
                    heads=24,
                    patch=2,
                    text_tokens=256,
                ),
                "HunyuanVideo (arXiv 2412.03603) table 2: 13 B, 20 double and 40 single blocks of width 3072",
            ),
            "vae": Stated(
                Autoencoder(
                    parameters=246_000_000,
                    block_parameters=60_000_000,
                    matrix_parameters=14_155_776,
                    decoder_channels=256,
                    encoder_channels=128,
                    latent_channels=16,
                    temporal=4,
                    frames_at_once=16,
                    tile_pixels=256,
                ),
                "diffusers autoencoder_kl_hunyuan_video.py: 128–512 channels, 16 frames a tile by default",
            ),
        },
        {**_VIDEO, "guidance": "distilled", "width_pixels": 1280, "height_pixels": 720, "frames": 129},
        ("hunyuanvideo", "hunyuan video", "混元视频", "混元 video", "hunyuanvideo-community/HunyuanVideo"),
    ),
    "THUDM/CogVideoX-5b": Made(
        "CogVideoX 5B",
        {
            "text_encoder": T5,
            "transformer": Stated(
                Transformer(
                    parameters=5_570_283_072,
                    block_parameters=132_000_000,
                    matrix_parameters=37_748_736,
                    width=3072,
                    layers=42,
                    heads=48,
                    patch=2,
                    text_tokens=226,
                ),
                "CogVideoX (arXiv 2408.06072) table 3: 42 layers of width 3072, 48 heads; parameters of the published checkpoint",
            ),
            "vae": Stated(
                Autoencoder(
                    parameters=216_000_000,
                    block_parameters=60_000_000,
                    matrix_parameters=7_077_888,
                    decoder_channels=256,
                    encoder_channels=128,
                    latent_channels=16,
                    temporal=4,
                    frames_at_once=9,
                    tile_pixels=240,
                ),
                "diffusers autoencoder_kl_cogvideox.py: 128–512 channels, two latent frames at once",
            ),
        },
        {**_VIDEO, "width_pixels": 720, "height_pixels": 480, "frames": 49},
        ("cogvideox", "cogvideox 5b", "cogvideo", "zai-org/CogVideoX-5b"),
    ),
    "Lightricks/LTX-Video": Made(
        "LTX-Video",
        {
            "text_encoder": T5,
            "transformer": Stated(
                Transformer(
                    parameters=1_923_000_000,
                    block_parameters=68_000_000,
                    matrix_parameters=16_777_216,
                    width=2048,
                    layers=28,
                    heads=32,
                    patch=1,
                ),
                "LTX-Video (arXiv 2501.00103) §2.2: 1.9 B, 28 blocks of width 2048",
            ),
            "vae": Stated(
                Autoencoder(
                    parameters=419_000_000,
                    block_parameters=120_000_000,
                    matrix_parameters=28_311_552,
                    decoder_channels=32,
                    encoder_channels=128,
                    latent_channels=128,
                    compression=32,
                    temporal=8,
                    tile_pixels=512,
                ),
                "LTX-Video (arXiv 2501.00103) §2.1: 32 × 32 × 8, latents unpatched by 4 in the decoder",
            ),
        },
        {**_VIDEO, "width_pixels": 768, "height_pixels": 512, "frames": 161},
        ("ltx", "ltx video", "ltx-video"),
    ),
}


