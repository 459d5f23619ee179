"""Pictures and videos as a request asks for them, beside measured ones."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.pipelines import bundled_pipelines
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.workload import ComponentOffload, Diffusion, Task
from cardmatch.engine.speed.images import ImageSpeed
from cardmatch.engine.speed.pictures import making_speed
from tests.engine.speed.places import chip

KNOWN = bundled().calibration.speed
FLUX = "black-forest-labs/FLUX.1-dev"


def making(name: str, card: str, workload: Diffusion) -> ImageSpeed:
    """The speed of a catalogue pipeline on *card*."""
    found = making_speed(settle(workload, bundled_pipelines().rows[name].pipeline).job, chip(card), KNOWN)
    assert found is not None
    return found


def test_a_video_on_an_a100_lies_in_its_band() -> None:
    """HunyuanVideo, 1280 × 720, 121 frames, 22 steps on an A100: about 20 minutes (huggingface.co/posts/jbilcke-hf)."""
    workload = Diffusion(width_pixels=1280, height_pixels=720, frames=121, denoise_steps=22)
    found = making("tencent/HunyuanVideo", "a100-sxm-80", workload).seconds
    assert found.low <= 20 * 60 <= found.high
    assert found.basis == "extrapolated"


def test_formats_that_are_unpacked_while_they_run_are_slower() -> None:
    """The 8 bits of bitsandbytes take over twice as long as BF16, the 4 bits hardly longer (diffusers' table)."""
    plain = making(FLUX, "h100-sxm-80", Diffusion()).seconds.expected
    eight, four = (
        making(FLUX, "h100-sxm-80", Diffusion(formats={"transformer": name})).seconds for name in ("int8_bnb", "nf4")
    )
    assert eight.expected > 2 * plain
    assert plain < four.expected < 1.1 * plain
    assert eight.basis == "extrapolated"


def test_the_pipelines_own_steps_are_taken_where_none_are_asked_for() -> None:
    """FLUX.1 schnell was distilled to four steps, dev takes 28."""
    four = making("black-forest-labs/FLUX.1-schnell", "h100-sxm-80", Diffusion())
    assert four.seconds.expected / four.step_seconds.expected == pytest.approx(4)
    dev = making(FLUX, "h100-sxm-80", Diffusion())
    assert dev.seconds.expected / dev.step_seconds.expected == pytest.approx(28)


def test_what_is_fetched_layer_by_layer_is_fetched_at_each_step() -> None:
    """Components once a batch; layers of the denoiser once a step."""
    kinds = (ComponentOffload.NONE, ComponentOffload.MODEL, ComponentOffload.SEQUENTIAL)
    none, model, layers = (making(FLUX, "rtx-4090", Diffusion(offload=kind)).seconds.expected for kind in kinds)
    assert none < model
    assert layers - none > 15 * (model - none)


def test_training_makes_no_pictures() -> None:
    """LoRA of SDXL has no pictures a second."""
    row = bundled_pipelines().rows["stabilityai/stable-diffusion-xl-base-1.0"]
    job = settle(Diffusion(task=Task.LORA), row.pipeline).job
    assert making_speed(job, chip("h100-sxm-80"), KNOWN) is None


def test_small_networks_wait_for_their_launches() -> None:
    """Stable Diffusion 1.5 at 512 × 512, 50 steps one by one on an A100: 1.96 s were measured, 0.98 s compiled."""
    found = making("runwayml/stable-diffusion-v1-5", "a100-sxm-40", Diffusion(denoise_steps=50))
    assert found.seconds.expected == pytest.approx(1.96, rel=0.05)
    assert found.seconds.low <= 0.98
    assert 1 / found.images_per_second.expected == pytest.approx(found.seconds.expected)
