"""Components of pipelines of which the transcribed sources hold no configuration: by the code that defines them, or by
papers and model cards.

What was *counted* is exact: the sum over the tensors of the class, built by diffusers 0.42.1 and transformers 5.24.0
with the configuration that its source names. Every other fact has basis `rule_of_thumb` in the catalogue.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cardmatch.engine.models.diffusion.component import Autoencoder, Component, TextEncoder, Transformer


class Stated(NamedTuple):
    """A component of which there is no configuration, or a configuration known from elsewhere."""

    what: Component | dict[str, Any]
    source: str
    counted: bool = False


WAN_VAE = Stated(
    Autoencoder(
        parameters=126_892_531,
        block_parameters=25_441_728,
        matrix_parameters=3_981_696,
        decoder_channels=192,
        encoder_channels=96,
        latent_channels=16,
        temporal=4,
        frames_at_once=4,
        tile_pixels=256,
    ),
    "diffusers autoencoder_kl_wan.py, the defaults of AutoencoderKLWan: decoded latent frame by latent frame",
    counted=True,
)
UMT5 = Stated(
    TextEncoder(
        parameters=5_680_910_336,
        block_parameters=192_948_224,
        matrix_parameters=1_050_148_864,
        width=4096,
        layers=24,
        tokens=512,
        embedding_parameters=1_050_148_864,
    ),
    "transformers UMT5EncoderModel in the shape of umT5-XXL: 24 layers of 4096, vocabulary of 256,384",
    counted=True,
)
VQGAN = Stated(
    Autoencoder(
        parameters=18_406_894,
        block_parameters=1_180_032,
        matrix_parameters=1_180_032,
        decoder_channels=192,
        encoder_channels=192,
        latent_channels=4,
        compression=4,
    ),
    "diffusers modeling_paella_vq_model.py, the defaults of PaellaVQModel",
    counted=True,
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
        parameters=7_505_186_816,
        block_parameters=218_112_000,
        matrix_parameters=525_598_720,
        width=4096,
        layers=32,
        tokens=256,
        embedding_parameters=525_598_720,
    ),
    "diffusers pipeline_hunyuan_video.py: LlamaModel (no head) of Llama 3 8B with 128,320 tokens, as LLaVA extends it",
    counted=True,
)
HUNYUAN_VIDEO = Stated(
    Transformer(
        parameters=12_821_012_544,
        block_parameters=339_831_296,
        matrix_parameters=56_641_536,
        width=3072,
        layers=60,
        heads=24,
        patch=2,
        text_tokens=256,
        modulation_parameters=3_455_133_696,
    ),
    "diffusers convert_hunyuan_video_to_diffusers.py, HYVideo-T/2-cfgdistill: 20 double and 40 single blocks of 3072",
    counted=True,
)
HUNYUAN_VIDEO_VAE = Stated(
    Autoencoder(
        parameters=246_478_803,
        block_parameters=49_554_944,
        matrix_parameters=7_078_400,
        decoder_channels=256,
        encoder_channels=128,
        latent_channels=16,
        temporal=4,
        frames_at_once=16,
        tile_pixels=256,
    ),
    "diffusers autoencoder_kl_hunyuan_video.py, the defaults of AutoencoderKLHunyuanVideo: 16 frames at once",
    counted=True,
)
COGVIDEOX = Stated(
    Transformer(
        parameters=5_570_283_072,
        block_parameters=132_197_632,
        matrix_parameters=37_761_024,
        width=3072,
        layers=42,
        heads=48,
        patch=2,
        text_tokens=226,
        modulation_parameters=797_423_616,
    ),
    "diffusers convert_cogvideox_to_diffusers.py, the 5B: 42 layers, 48 heads of 64",
    counted=True,
)
COGVIDEOX_VAE = Stated(
    Autoencoder(
        parameters=215_583_907,
        block_parameters=59_134_464,
        matrix_parameters=7_078_400,
        decoder_channels=256,
        encoder_channels=128,
        latent_channels=16,
        temporal=4,
        frames_at_once=9,
        tile_pixels=294,
    ),
    "diffusers autoencoder_kl_cogvideox.py, the defaults: two latent frames at once, tiles of 240 × 360",
    counted=True,
)
LTX = Stated(
    Transformer(
        parameters=1_923_385_472,
        block_parameters=67_155_968,
        matrix_parameters=25_178_112,
        width=2048,
        layers=28,
        heads=32,
        patch=1,
    ),
    "diffusers convert_ltx_to_diffusers.py, before 0.9.7: 28 layers, 32 heads of 64",
    counted=True,
)
LTX_VAE = Stated(
    Autoencoder(
        parameters=419_193_649,
        block_parameters=99_097_600,
        matrix_parameters=56_627_200,
        decoder_channels=32,
        encoder_channels=128,
        latent_channels=128,
        compression=32,
        temporal=8,
        tile_pixels=512,
    ),
    "diffusers convert_ltx_to_diffusers.py, 0.9.0: 32 × 32 × 8, latents unpatched by 4 in the decoder",
    counted=True,
)
