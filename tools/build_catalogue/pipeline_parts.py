"""Components of pipelines of which the transcribed sources hold no configuration: by papers and model cards.

Every fact here has basis `rule_of_thumb` in the catalogue, and the source beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cardmatch.engine.models.diffusion.component import Autoencoder, Component, TextEncoder, Transformer


class Stated(NamedTuple):
    """A component of which there is no configuration, or a configuration known from elsewhere."""

    what: Component | dict[str, Any]
    source: str


WAN_VAE = Stated(
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
UMT5 = Stated(
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
VQGAN = Stated(
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
)
HUNYUAN_CLIP = Stated(
    TextEncoder(parameters=350_000_000, width=1024, layers=24, tokens=77),
    "Hunyuan-DiT (arXiv 2405.08748) §2.1: a bilingual CLIP of 350 M parameters",
)
MT5 = Stated(
    TextEncoder(parameters=1_670_000_000, width=2048, layers=24, tokens=256),
    "Hunyuan-DiT (arXiv 2405.08748) §2.1: the encoder of mT5-XL, 1.6 B parameters",
)
HUNYUAN_VIDEO_TEXT = Stated(
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
)
HUNYUAN_VIDEO = Stated(
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
)
HUNYUAN_VIDEO_VAE = Stated(
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
)
COGVIDEOX = Stated(
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
    "CogVideoX (arXiv 2408.06072) table 3: 42 layers of width 3072, 48 heads; published checkpoint",
)
COGVIDEOX_VAE = Stated(
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
)
LTX = Stated(
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
)
LTX_VAE = Stated(
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
)
