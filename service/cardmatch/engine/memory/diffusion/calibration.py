"""Constants of diffusion memory that are measured, not derived; `tools/calibrate` fits them from truth cases."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cardmatch.engine.memory.training.calibration import Fit, Residual, Spread


class Factors(NamedTuple):
    """The constants without their pedigree.

    Copies are live tensors at a peak, in the width of the place: `transformer_copies` hidden states of a diffusion
    transformer, `unet_copies` feature maps of a UNet's first level, `decode_copies` (images) and
    `video_decode_copies` maps that enter the decoder's last level, `encode_copies` those that leave the encoder's
    first. `workspace_bytes`: what cuDNN's 16-bit convolutions take to decode. `unreused_share`: what the allocator
    reserves besides, of activations. `context_bytes`: CUDA context.
    """

    transformer_copies: float
    unet_copies: float
    decode_copies: float
    video_decode_copies: float
    encode_copies: float
    workspace_bytes: float
    unreused_share: float
    context_bytes: float


class DiffusionCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How real pipelines differ from the bytes that follow from shapes; the fields of `Factors`, with their ranges.

    The spreads are of peaks: `allocated` of those that PyTorch counts as allocated, `reserved` of reserved ones,
    `offloaded` of either where components wait in host memory, which frees less than it should,
    `trained` of either in training.
    """

    as_of: str
    transformer_copies: Fit
    unet_copies: Fit
    decode_copies: Fit
    video_decode_copies: Fit
    encode_copies: Fit
    workspace_bytes: Fit
    unreused_share: Fit
    context_bytes: Fit
    allocated: Spread
    reserved: Spread
    offloaded: Spread
    trained: Spread
    residuals: tuple[Residual, ...] = ()


def factors(calibration: DiffusionCalibration) -> Factors:
    """The values of *calibration*."""
    return Factors(*(getattr(calibration, name).value for name in Factors._fields))
