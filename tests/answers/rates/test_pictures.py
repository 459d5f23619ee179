"""Pictures and videos an hour, predicted for options of /cost."""

from __future__ import annotations

import pytest

from cardmatch.engine.terms.band import Basis
from tests.answers.rates.predicting import answered, assumed, option_of, rate_of, refused

IMAGES = {"unit": "image"}
VIDEOS = {"unit": "item"}
SDXL = "sdxl"
WAN = "Wan-AI/Wan2.1-T2V-14B"


def test_a_thousand_pictures_cost_what_their_steps_take() -> None:
    """SDXL, 30 guided steps of 6 × 10^12 operations each: the seconds of a picture, at two dollars an hour."""
    answer = answered(SDXL, IMAGES, {"denoise_steps": 30, "batch": 4})
    rate = rate_of(answer)
    assert rate.unit == "image"
    assert rate.basis is Basis.CALIBRATED
    assert rate.low_units_per_second < rate.expected_units_per_second < rate.high_units_per_second
    costed = option_of(answer)
    assert costed.usd_per_thousand == pytest.approx(2 / 3600 * 1000 / rate.expected_units_per_second, rel=1e-3)
    assert costed.total.low_usd < costed.total.expected_usd < costed.total.high_usd


def test_what_was_left_out_is_echoed() -> None:
    """The pipeline's own steps and size, one picture at a time, half precision."""
    answer = answered(SDXL, IMAGES)
    said = assumed(answer)
    assert said["/workload/denoise_steps"] == 50
    assert (said["/workload/width_pixels"], said["/workload/batch"]) == (1024, 1)
    (steps,) = [each.message for each in answer.assumptions if each.pointer.endswith("denoise_steps")]
    assert steps == "No number of steps was given; the pipeline's usual 50 were used."


def test_an_h100_makes_sdxl_pictures_as_fast_as_was_measured() -> None:
    """MLPerf Inference v4.1: eight H100 make 16.3 pictures of 20 steps a second, compiled; eager is slower."""
    rate = rate_of(answered(SDXL, IMAGES, {"denoise_steps": 20, "batch": 8}))
    assert 16.348 / 8 / 2 < rate.expected_units_per_second < 16.348 / 8


def test_twice_the_steps_or_four_times_the_area_take_as_much_longer() -> None:
    """Arithmetic that fills the card is proportional to steps, and without attention's share to pixels."""
    one, twice, large = (
        rate_of(answered(SDXL, IMAGES, {"denoise_steps": 20, "batch": 4} | more)).expected_units_per_second
        for more in ({}, {"denoise_steps": 40}, {"width_pixels": 2048, "height_pixels": 2048})
    )
    assert one == pytest.approx(2 * twice)
    assert one == pytest.approx(4 * large)


def test_guidance_costs_half_the_speed() -> None:
    """Each step runs the network with the prompt and without it."""
    guided, plain = (
        rate_of(answered(SDXL, IMAGES, {"batch": 8, "guidance": guidance})).expected_units_per_second
        for guidance in (True, False)
    )
    assert plain == pytest.approx(2 * guided)


def test_every_gpu_makes_pictures_of_its_own() -> None:
    """Four cards make four times as many."""
    one, four = (rate_of(answered(SDXL, IMAGES, count=count)).expected_units_per_second for count in (1, 4))
    assert four == pytest.approx(4 * one)


def test_ten_pictures_of_a_small_network_take_as_long_as_was_measured() -> None:
    """Stable Diffusion 1.5 in 50 steps, ten at a time on an A100: 6.88 s (token merging's paper, nothing merged)."""
    workload = {"denoise_steps": 50, "batch": 10}
    rate = rate_of(answered("runwayml/stable-diffusion-v1-5", IMAGES, workload, card="a100-sxm-80"))
    assert rate.low_units_per_second <= 10 / 6.88 <= rate.high_units_per_second


def test_a_video_is_an_item() -> None:
    """Wan 2.1 at 1280 × 720 and 81 frames takes most of an hour on one H100; the model is enough to tell the kind."""
    rate = rate_of(answered(WAN, VIDEOS))
    assert 0.3 < 1 / rate.expected_units_per_second / 3600 < 1.5
    assert rate.unit == "item"


def test_videos_are_not_counted_as_images() -> None:
    """Eighty-one frames are not one image, and nobody says which is meant."""
    fault = refused(WAN, IMAGES)
    assert (fault.pointer, fault.code.value) == ("/options/0/throughput/model", "unit_of_other_work")


def test_other_formats_than_sixteen_bits_are_sure_of_less() -> None:
    """FLUX in nf4 fits a 4090, where 16 bits do not; how fast its kernels are was measured on other cards."""
    formats = {"formats": {"transformer": "nf4", "text_encoder_2": "nf4"}}
    rate = rate_of(answered("black-forest-labs/FLUX.1-dev", IMAGES, formats, card="rtx-4090"))
    assert rate.basis is Basis.EXTRAPOLATED


@pytest.mark.parametrize(
    ("model", "workload", "card", "pointer", "code"),
    [
        ("black-forest-labs/FLUX.1-dev", {}, "rtx-4090", "/model", "model_does_not_fit"),
        (SDXL, {"task": "lora"}, "h100-sxm-80", "/workload/task", "throughput_not_predicted"),
        ("stabilityai/stable-cascade", {}, "h100-sxm-80", "/model", "throughput_not_predicted"),
        ("llama 3.1 8b", {}, "h100-sxm-80", "/model", "wrong_kind_of_model"),
        (SDXL, {"kind": "inference"}, "h100-sxm-80", "/workload/kind", "unit_not_of_workload"),
        (SDXL, {"stepps": 2}, "h100-sxm-80", "/workload/stepps", "unknown_field"),
    ],
)
def test_what_is_not_predicted_is_refused_where_it_stands(
    model: str, workload: dict[str, object], card: str, pointer: str, code: str
) -> None:
    """Too large for the card, training, two denoisers, another kind of model or workload."""
    fault = refused(model, IMAGES, workload, card=card)
    assert (fault.pointer, fault.code.value) == (f"/options/0/throughput{pointer}", code)
