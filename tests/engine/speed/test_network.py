"""The networks of pipelines beside operations that others counted."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.denoisers import denoisers
from cardmatch.catalogue.pipelines import bundled_pipelines
from cardmatch.engine.models.diffusion.component import Pipeline
from cardmatch.engine.speed.images import Picture, step_flops
from cardmatch.engine.speed.network import network_of


def pipeline(name: str) -> Pipeline:
    """A pipeline of the catalogue."""
    return bundled_pipelines().rows[name].pipeline


@pytest.mark.parametrize(
    ("name", "multiply_adds"),
    [
        # MLPerf Inference v4.1; arXiv 2305.15798 (BK-SDM) table 1 of Stable Diffusion v1.4, whose network is v1.5's.
        ("stabilityai/stable-diffusion-xl-base-1.0", 3.0e12),
        ("runwayml/stable-diffusion-v1-5", 0.339e12),
    ],
)
def test_a_convolutional_network_is_counted_from_its_levels(name: str, multiply_adds: float) -> None:
    """A pass over one picture of the pipeline's own size."""
    found = network_of(pipeline(name))
    assert found is not None
    assert found.pass_flops == pytest.approx(2 * multiply_adds, rel=0.03)


@pytest.mark.parametrize("row", sorted(denoisers()))
def test_networks_that_constants_were_fitted_to_are_read_alike(row: str) -> None:
    """The rows that speed was calibrated on do the work that their pipelines' components say."""
    found = network_of(pipeline(row.removesuffix("__unet").removesuffix("__transformer")))
    assert found is not None
    picture = Picture(width_pixels=1024, height_pixels=1024, steps=20, frames=9 if "Video" in row else 1)
    assert step_flops(found, picture) == pytest.approx(step_flops(denoisers()[row], picture), rel=0.02)


def test_a_learned_scale_needs_no_second_pass() -> None:
    """FLUX.1 dev runs its network once a step whether guidance is asked for or not; SDXL once only without it."""
    flux, sdxl = pipeline("black-forest-labs/FLUX.1-dev"), pipeline("stabilityai/stable-diffusion-xl-base-1.0")
    guided = [network_of(each, guided=asked) for each in (flux, sdxl) for asked in (True, False)]
    assert [each.guided for each in guided if each is not None] == [False, False, True, False]


def test_steps_that_two_networks_share_are_not_guessed() -> None:
    """Nobody says how many steps the refiner takes."""
    assert network_of(pipeline("stabilityai/stable-diffusion-xl-base-1.0+refiner")) is None
