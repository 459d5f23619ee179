"""Image speed beside operations counted by hand, and measured pictures."""

from __future__ import annotations

import msgspec
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


def test_a_card_outside_the_fit_lies_in_the_band() -> None:
    """SDXL in FP16, 50 steps on an L20 (119.5 TFLOPS, in no catalogue): 8.7 s, text and decoding included."""
    like = chip("l40s")
    l20 = like._replace(card=None, rates=msgspec.structs.replace(like.rates, bf16_tflops=119.5, fp16_tflops=119.5))
    found = image_speed(SDXL, Picture(width_pixels=1024, height_pixels=1024, steps=50), l20, KNOWN).seconds
    assert found.low <= 8.7 <= found.high


def test_large_cards_idle_between_kernels_that_python_launches() -> None:
    """SDXL in BF16, 30 steps on an A100, not compiled: 3.31 s (diffusers documentation, accelerated inference)."""
    made = Picture(width_pixels=1024, height_pixels=1024, steps=30)
    found = image_speed(SDXL, made, chip("a100-sxm-80"), KNOWN)
    assert found.seconds.expected == pytest.approx(3.31, rel=0.15)
    compiled = image_speed(SDXL, msgspec.structs.replace(made, compiled=True), chip("a100-sxm-80"), KNOWN)
    assert compiled.seconds.expected < found.seconds.expected
