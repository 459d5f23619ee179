"""The phases of making pictures: text encoding, denoising and decoding, each with what lies on the GPU meanwhile."""

from __future__ import annotations

from cardmatch.engine.memory.diffusion.calibration import Factors
from cardmatch.engine.memory.diffusion.curves import Curve, PhaseName
from cardmatch.engine.memory.diffusion.formats import FIXED
from cardmatch.engine.memory.diffusion.job import DiffusionJob, Part
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.models.diffusion.component import Autoencoder, TextEncoder, Transformer, UNet

SCORES = 2
"""Plain attention holds the scores and their softmax."""
_RGB = 3
_HALF = 2
_TEXT_COPIES = 12
"""Hidden states of a text encoder's layer in inference: queries to output, and a feed-forward of four times the
width; it never sets a peak by itself."""


def phases(job: DiffusionJob, known: Factors) -> tuple[Curve, ...]:
    """One curve for each component that runs."""
    found = []
    for part in job.parts:
        on = part.component
        if not part.bytes:
            continue
        if isinstance(on, TextEncoder):
            found.append(_text(job, part, on))
        elif isinstance(on, Transformer):
            found.append(transformer(job, part, on, known))
        elif isinstance(on, UNet):
            found.append(unet(job, part, on, known))
        elif isinstance(on, Autoencoder):
            found.append(_decode(job, part, on, known))
    return tuple(found)


def running(job: DiffusionJob, curve: Curve) -> Part:
    """The component that runs in a phase of making pictures."""
    return next(part for part in job.parts if part.name == curve.part)


def resident(job: DiffusionJob, running: Part) -> float:
    """Bytes of weights on the GPU while *running* runs, as diffusers' offload hooks leave them."""
    if job.offload is ComponentOffload.NONE:
        return sum(part.bytes for part in job.parts)
    stuck = sum(part.bytes for part in job.parts if part.format in FIXED and part is not running)
    if running.format in FIXED or job.offload is ComponentOffload.MODEL:
        return stuck + running.bytes
    on, share = running.component, running.bytes / max(running.component.parameters, 1)
    # Group offload holds a block, and fetches the next meanwhile.
    blocks = min(running.bytes, 2 * share * (on.block_parameters or on.parameters))
    if job.offload is ComponentOffload.SEQUENTIAL:
        return stuck + min(blocks, share * (on.matrix_parameters or on.parameters))
    return stuck + blocks


def _passes(job: DiffusionJob) -> int:
    return 2 if job.doubled else 1


def _text(job: DiffusionJob, part: Part, on: TextEncoder) -> Curve:
    each = _passes(job) * _TEXT_COPIES * on.tokens * on.width * part.compute
    return Curve(PhaseName.TEXT_ENCODE, resident(job, part), each=each, part=part.name)


def cell(job: DiffusionJob, own: float | None) -> float:
    """Pixels a side of one latent cell."""
    found = next((each.component for each in job.parts if isinstance(each.component, Autoencoder)), None)
    return own or (8.0 if found is None else found.compression)


def temporal(job: DiffusionJob) -> int:
    """Frames that the autoencoder makes one of."""
    found = next((each.component for each in job.parts if isinstance(each.component, Autoencoder)), None)
    return 1 if found is None else found.temporal


def transformer(job: DiffusionJob, part: Part, on: Transformer, known: Factors) -> Curve:
    """Denoising with a transformer: a token for each patch, and the text's."""
    patch = (cell(job, None) * on.patch) ** 2
    state = on.width * part.compute * known.transformer_copies
    scores = SCORES * on.heads * part.compute if job.eager else 0.0
    passes = _passes(job)
    return Curve(
        PhaseName.DENOISE,
        resident(job, part),
        each=passes * on.text_tokens * state,
        linear=passes * state / patch,
        square=passes * scores / patch**2,
        temporal=temporal(job),
        part=part.name,
    )


def unet(job: DiffusionJob, part: Part, on: UNet, known: Factors) -> Curve:
    """Denoising with a UNet: feature maps of its first level; with plain attention, the scores of its finest level."""
    area = cell(job, on.compression) ** 2
    passes = _passes(job)
    scores = max((heads / 16**level for level, heads in enumerate(on.heads)), default=0.0)
    return Curve(
        PhaseName.DENOISE,
        resident(job, part),
        linear=passes * on.channels[0] * part.compute * known.unet_copies / area,
        square=passes * SCORES * scores * part.compute / area**2 if job.eager else 0.0,
        part=part.name,
    )


def _decode(job: DiffusionJob, part: Part, on: Autoencoder, known: Factors) -> Curve:
    """Decoding: maps that enter the decoder's last level, of a tile and of the frames that are decoded at once."""
    video = on.temporal > 1
    copies = known.video_decode_copies if video else known.decode_copies
    return Curve(
        PhaseName.DECODE,
        resident(job, part),
        linear=copies * on.decoder_channels * part.compute,
        cap_pixels=on.tile_pixels**2 if job.workload.vae_tiling else None,
        cap_frames=on.frames_at_once,
        alone=job.workload.vae_slicing,
        fixed=known.workspace_bytes if part.compute == _HALF else 0.0,
        output=_RGB * part.compute if video or job.workload.vae_slicing else 0.0,
        part=part.name,
    )


def encoding(on: Autoencoder, compute: int, known: Factors) -> Curve:
    """Encoding pixels to latents, by the autoencoder alone."""
    return Curve(
        PhaseName.DECODE,
        on.parameters * compute,
        linear=known.encode_copies * on.encoder_channels * compute,
        cap_frames=on.frames_at_once,
    )
