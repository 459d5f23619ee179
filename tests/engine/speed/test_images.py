"""Image speed beside operations counted by hand, and measured pictures."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.denoisers import denoisers
from cardmatch.catalogue.world import bundled
from cardmatch.engine.speed.images import Picture, image_speed, step_flops
from tests.engine.speed.places import chip

KNOWN = bundled().calibration.speed
SDXL = denoisers()["stabilityai/stable-diffusion-xl-base-1.0__unet"]
FLUX = denoisers()["black-forest-labs/FLUX.1-dev__transformer"]
LARGE = Picture(width_pixels=1024, height_pixels=1024, steps=20, compiled=True)


def test_guidance_runs_the_network_twice() -> None:
    """SDXL: 20 guided steps of 6 × 10^12 operations are 240 × 10^12; MLPerf counts about 245 with the decoder."""
    assert 20 * step_flops(SDXL, LARGE) == pytest.approx(245e12, rel=0.05)


def test_a_transformer_multiplies_tokens_of_sixteen_pixels() -> None:
    """FLUX.1 at 1024 × 1024: 4,096 + 512 tokens through 57 blocks of 12 × 3,072² parameters, and attention."""
    tokens = 4096 + 512
    by_hand = 57 * (2 * 12 * 3072**2 * tokens + 4 * 3072 * tokens**2)
    assert step_flops(FLUX, LARGE) == pytest.approx(by_hand)


def test_batches_and_area_scale_the_work() -> None:
    """Four pictures are four times one; a quarter of the area is a quarter of a convolution's work."""
    small = Picture(width_pixels=512, height_pixels=512, steps=20)
    assert step_flops(SDXL, small) == pytest.approx(step_flops(SDXL, LARGE) / 4)
    four = Picture(width_pixels=1024, height_pixels=1024, steps=20, batch=4)
    assert step_flops(FLUX, four) == pytest.approx(4 * step_flops(FLUX, LARGE))


def test_a_measured_server_lies_in_the_band() -> None:
    """MLPerf Inference v4.1, eight H100 SXM: 16.348 SDXL pictures a second."""
    found = image_speed(SDXL, LARGE, chip("h100-sxm-80"), KNOWN).images_per_second
    assert found.low <= 16.348 / 8 <= found.high
