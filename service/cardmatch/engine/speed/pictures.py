"""How fast a pipeline makes pictures or videos in its formats, with what it fetches from the host."""

from __future__ import annotations

from cardmatch.engine.memory.diffusion.formats import BYTES
from cardmatch.engine.memory.diffusion.job import DiffusionJob
from cardmatch.engine.memory.diffusion.workload import ComponentOffload
from cardmatch.engine.models.diffusion.component import Medium, Transformer, UNet
from cardmatch.engine.speed.band import UNMEASURED, UNSEEN_POWER, SpeedBand
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.images import ImageSpeed, Picture, image_speed
from cardmatch.engine.speed.network import network_of
from cardmatch.engine.terms.band import Basis, weakest
from cardmatch.engine.terms.units import GB

_SOURCE_STEPS = 50 / 28 * 6.573
"""Seconds of FLUX.1 dev in BF16, 50 steps at 1024 × 1024 on an H100 (torchao's table times 28 of them)."""

SLOWER = {
    "nf4": 12 / _SOURCE_STEPS,
    "nf4_dq": 12 / _SOURCE_STEPS,
    "int8_bnb": 27 / _SOURCE_STEPS,
    "int8": 15 / _SOURCE_STEPS,
    "int4": 109 / _SOURCE_STEPS,
    "fp8": 15 / _SOURCE_STEPS,
    "fp8_layerwise": 13 / _SOURCE_STEPS,
    "gguf:Q8_0": 15 / _SOURCE_STEPS,
}
"""Times longer than in 16 bits, without compilation (huggingface.co/blog/diffusers-quantization, the same job)."""

_SLOWER_GGUF = 26 / _SOURCE_STEPS
"""Q2_K of the same table: types that are unpacked from several scales."""

EAGER_STEP_SECONDS = 0.039
"""The least that a step takes where Python launches its kernels one by one: Stable Diffusion 1.5 at 512 × 512 in 50
steps on an A100, 1.96 s, of which arithmetic is a third (alexeigor/sd-benchmarks; compiled it takes half)."""

HOST_GB_S = 0.5
"""GB per second of weights that come from the host anew: Stable Diffusion 3 on an A100 with model offload, 32.8 s
instead of 4.8 s for 16 GB (huggingface.co/blog/sd3). Pageable memory, far below PCIe."""


def steps_of(job: DiffusionJob) -> int:
    """Denoising steps: as asked, else the pipeline's own."""
    return job.workload.denoise_steps or job.pipeline.steps


def making_speed(job: DiffusionJob, chip: Chip, known: SpeedCalibration) -> ImageSpeed | None:
    """Seconds of a batch of *job* on one *chip*; None for pipelines of several denoisers and for training."""
    guided = job.workload.guidance is not False
    network = network_of(job.pipeline, guided=guided) if job.inference else None
    if network is None:
        return None
    size = job.size
    picture = Picture(
        width_pixels=size.width,
        height_pixels=size.height,
        steps=steps_of(job),
        frames=size.frames,
        batch=size.batch,
    )
    found = image_speed(network, picture, chip, known)
    found = _launched(found, picture)
    slower, fetched = _slower(job), _fetched_bytes(job, picture.steps) / (HOST_GB_S * GB)
    if job.pipeline.medium is Medium.VIDEO or job.basis is Basis.RULE_OF_THUMB:
        found = _unsure(found, job.basis)
    return found if slower == 1 and not fetched else _slowed(found, picture, slower, fetched)


def _launched(found: ImageSpeed, picture: Picture) -> ImageSpeed:
    """*found*, where a step's arithmetic takes less than its launches do: as long as those, or as it took."""
    step = found.step_seconds
    if picture.compiled or step.expected >= EAGER_STEP_SECONDS:
        return found
    longer = EAGER_STEP_SECONDS / step.expected
    seconds, basis = found.seconds, weakest(step.basis, Basis.EXTRAPOLATED)
    return ImageSpeed(
        seconds=SpeedBand(low=seconds.low, expected=seconds.expected * longer, high=seconds.high * longer, basis=basis),
        step_seconds=SpeedBand(low=step.low, expected=EAGER_STEP_SECONDS, high=step.high * longer, basis=basis),
        images_per_second=SpeedBand(
            low=found.images_per_second.low / longer,
            expected=found.images_per_second.expected / longer,
            high=found.images_per_second.high,
            basis=basis,
        ),
    )


def _slower(job: DiffusionJob) -> float:
    """How many times longer the denoiser takes in its format; 32 bits at half the rate of 16 at best."""
    part = next(part for part in job.parts if isinstance(part.component, UNet | Transformer))
    if part.format in BYTES:
        return BYTES[part.format] / BYTES["bf16"]
    return SLOWER.get(part.format, _SLOWER_GGUF if part.format.startswith("gguf:") else 1.0)


def _fetched_bytes(job: DiffusionJob, steps: int) -> float:
    """Weights that come from the host for a batch: each component once, or layer by layer the denoiser each step."""
    if job.offload is ComponentOffload.NONE:
        return 0.0
    once = job.offload is ComponentOffload.MODEL
    return sum(
        part.bytes * (1 if once or not isinstance(part.component, UNet | Transformer) else steps) for part in job.parts
    )


def _unsure(found: ImageSpeed, basis: Basis) -> ImageSpeed:
    """*found* of a network guessed from its size, or of a video.

    Attention over all frames takes most of a video's time, and one model's rows alone speak of that.
    """
    return ImageSpeed(
        seconds=_wide(found.seconds, basis),
        step_seconds=_wide(found.step_seconds, basis),
        images_per_second=_wide(found.images_per_second, basis),
    )


def _wide(band: SpeedBand, basis: Basis) -> SpeedBand:
    return SpeedBand(
        low=min(band.low, band.expected * UNMEASURED.low_ratio),
        expected=band.expected,
        high=max(band.high, band.expected * UNMEASURED.high_ratio),
        basis=weakest(band.basis, Basis.EXTRAPOLATED, basis),
    )


def _slowed(found: ImageSpeed, picture: Picture, slower: float, fetched: float) -> ImageSpeed:
    """*found* with what was measured elsewhere: no row of this card speaks of it."""
    seconds = _band(found.seconds, slower, fetched)
    steps, batch = picture.steps, picture.batch
    return ImageSpeed(
        seconds=seconds,
        step_seconds=_band(found.step_seconds, slower, fetched / steps),
        images_per_second=SpeedBand(
            low=batch / seconds.high, expected=batch / seconds.expected, high=batch / seconds.low, basis=seconds.basis
        ),
    )


def _band(time: SpeedBand, slower: float, more: float) -> SpeedBand:
    """*time* so many times longer, with *more* seconds, of which nobody knows more than a factor of two."""
    wider = UNSEEN_POWER if time.basis is Basis.CALIBRATED else 1.0
    expected = time.expected * slower
    return SpeedBand(
        low=expected * (time.low / time.expected) ** wider + more / 2,
        expected=expected + more,
        high=expected * (time.high / time.expected) ** wider + 2 * more,
        basis=weakest(time.basis, Basis.EXTRAPOLATED),
    )
