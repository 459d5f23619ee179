"""The largest batch, picture and video are the last that run."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cardmatch.engine.memory.diffusion.curves import Curve, PhaseName, activations
from cardmatch.engine.memory.diffusion.inverse import largest_size, most_frames
from cardmatch.engine.memory.diffusion.job import Size
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


def test_closed_forms_agree_with_trying_every_size() -> None:
    """Random phases: the largest picture and video are those that a search finds."""
    draw = random.Random(7)
    for _ in range(60):
        found = tuple(_phase(draw) for _ in range(3))
        size = Size(
            draw.choice((1, 2, 5)), draw.choice((512, 832, 1280)), draw.choice((480, 720)), draw.choice((1, 17, 81))
        )
        room = draw.uniform(1e9, 6e10)
        ratio = size.width / size.height
        runs = [n for n in range(1, 1025) if _holds(found, room, size.batch, _area(n, ratio), size.frames)]
        width, height = largest_size(found, room, size)
        assert max(width, height) == 16 * max(runs, default=0)
        longest = [n for n in range(1, 4097) if _holds(found, room, size.batch, size.pixels, n)]
        assert most_frames(found, room, size) == max(longest, default=0)


def _phase(draw: random.Random) -> Curve:
    return Curve(
        PhaseName.DENOISE,
        draw.uniform(0, 1e10),
        each=draw.uniform(0, 1e8),
        linear=draw.uniform(1, 3000),
        square=draw.choice((0.0, 1e-6)),
        temporal=draw.choice((1, 4, 8)),
        cap_pixels=draw.choice((None, 512**2)),
        cap_frames=draw.choice((None, 9)),
        alone=draw.choice((True, False)),
        output=draw.choice((0.0, 6.0)),
        fixed=draw.uniform(0, 1e9),
    )


def _area(steps: int, ratio: float) -> int:
    longer, shorter = steps * 16, max(16, round(steps * min(ratio, 1 / ratio)) * 16)
    return longer * shorter


def _holds(found: tuple[Curve, ...], room: float, batch: int, pixels: int, frames: int) -> bool:
    return all(curve.resident + activations(curve, batch, pixels, frames) <= room for curve in found)
