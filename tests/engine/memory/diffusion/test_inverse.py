"""The largest batch, picture and video are the last that run."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.terms.units import GIB
from tests.engine.memory.diffusion.test_estimate import WORLD, estimate

CONTEXT = WORLD.calibration.diffusion.context_bytes.value


def _needed(name: str, **fields: Any) -> float:
    return estimate(name, **fields).placements[0].peaks.allocated.expected_bytes + CONTEXT


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("sdxl", {"width_pixels": 1024, "height_pixels": 1024}),
        ("sdxl", {"width_pixels": 512, "height_pixels": 768, "vae_slicing": True}),
        ("sdxl", {"width_pixels": 1024, "height_pixels": 1024, "task": "lora"}),
        ("flux", {"width_pixels": 768, "height_pixels": 768, "attention": "eager"}),
        ("cogvideox", {"width_pixels": 720, "height_pixels": 480, "frames": 9}),
    ],
)
def test_the_largest_batch_runs_and_the_next_does_not(name: str, fields: dict[str, Any]) -> None:
    """Against the peaks of both, as they are computed forwards."""
    placement = estimate(name, **fields).placements[0]
    most = placement.largest.batch
    assert most > 0
    assert _needed(name, **{**fields, "batch": most}) <= placement.budget_bytes
    assert _needed(name, **{**fields, "batch": most + 1}) > placement.budget_bytes


@pytest.mark.parametrize(("width", "height"), [(1024, 1024), (1536, 1024), (768, 1344)])
def test_the_largest_picture_runs_and_keeps_its_proportions(width: int, height: int) -> None:
    """It runs, one that is a tenth wider and higher does not."""
    placement = estimate("flux", width_pixels=width, height_pixels=height).placements[0]
    wide, high = placement.largest.width_pixels, placement.largest.height_pixels
    assert wide / high == pytest.approx(width / height, rel=0.02)
    assert _needed("flux", width_pixels=wide, height_pixels=high) <= placement.budget_bytes
    more: dict[str, Any] = {"width_pixels": round(wide * 1.1), "height_pixels": round(high * 1.1)}
    assert _needed("flux", **more) > placement.budget_bytes


def test_the_longest_video_runs_and_a_much_longer_does_not() -> None:
    """Frames are counted in the autoencoder's steps of four."""
    fields: dict[str, Any] = {"width_pixels": 1280, "height_pixels": 720, "offload": "model", "vae_tiling": True}
    placement = estimate("hunyuan video", **fields).placements[0]
    most = placement.largest.frames or 0
    assert most > 129
    assert _needed("hunyuan video", **fields, frames=most) <= placement.budget_bytes
    assert _needed("hunyuan video", **fields, frames=min(4096, most + 4)) > placement.budget_bytes


def test_image_models_have_no_frames() -> None:
    """Null, not one."""
    assert estimate("sdxl").placements[0].largest.frames is None


def test_what_does_not_load_makes_nothing() -> None:
    """FLUX in bf16 on 24 GB: no batch, no picture."""
    largest = estimate("flux", "rtx-4090").placements[0].largest
    assert (largest.batch, largest.width_pixels, largest.height_pixels) == (0, 0, 0)
    assert estimate("flux").need.weights_bytes > 24 * GIB
