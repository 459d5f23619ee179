"""Sizes that pipelines make, and what is said of others and of pipelines that lack something."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.diffusion.estimate import notices_of
from cardmatch.engine.memory.diffusion.settle import settle
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.models.diffusion.component import Pipeline, Transformer
from cardmatch.engine.terms.notice import NoticeCode
from tests.engine.memory.diffusion.test_estimate import estimate, pipeline


def said(name: str, **fields: Any) -> dict[NoticeCode, dict[str, Any]]:
    """The notices of a pipeline of the catalogue, by code."""
    job = settle(msgspec.convert(fields, Diffusion), pipeline(name)).job
    return {each.code: dict(each.params) for each in notices_of(job)}


@pytest.mark.parametrize(
    ("name", "fields", "multiple"),
    [
        ("sdxl", {"width_pixels": 1001}, 8),
        ("flux", {"height_pixels": 1000}, 16),
        ("sd3", {"width_pixels": 1000}, 16),
        ("ltx video", {"width_pixels": 720}, 32),
    ],
)
def test_sizes_that_are_refused_or_rounded_are_told(name: str, fields: dict[str, Any], multiple: int) -> None:
    """Diffusers' check_inputs: SDXL divides by 8, FLUX and SD3 by 16, LTX by 32."""
    found = said(name, **fields)[NoticeCode.SIZE_NOT_MADE]
    assert found["multiple"] == multiple
    assert NoticeCode.SIZE_NOT_MADE not in said(name)


def test_frames_between_latent_frames_are_told() -> None:
    """Wan makes 4k + 1 frames: 80 become 81 or 77."""
    found = said("wan 2.1", frames=80)[NoticeCode.FRAMES_NOT_MADE]
    assert (found["fewer"], found["more"]) == (77, 81)
    assert NoticeCode.FRAMES_NOT_MADE not in said("wan 2.1", frames=81)


@pytest.mark.parametrize("name", ["wan 2.1", "hunyuan video", "cogvideox"])
def test_the_longest_video_is_one_that_is_made(name: str) -> None:
    """It has a first frame and four for each latent frame."""
    frames = estimate(name, "h200-sxm").placements[0].largest.frames
    assert frames is not None
    assert frames > 1
    assert frames % 4 == 1


def test_what_a_bare_denoiser_lacks_is_told() -> None:
    """A transformer alone: text encoder and decoder are not counted, and this is said; adapters need neither."""
    alone = tuple(each for each in pipeline("flux").components if isinstance(each.component, Transformer))
    bare = Pipeline(components=alone)
    making = notices_of(settle(Diffusion(), bare).job)
    assert [each.params for each in making if each.code is NoticeCode.COMPONENTS_MISSING] == [
        {"components": ["text_encoder", "vae"]}
    ]
    tuning = notices_of(settle(msgspec.convert({"task": "lora"}, Diffusion), bare).job)
    assert all(each.code is not NoticeCode.COMPONENTS_MISSING for each in tuning)
    assert all(
        NoticeCode.COMPONENTS_MISSING not in {each.code for each in notices_of(settle(Diffusion(), row.pipeline).job)}
        for row in bundled().pipelines.rows.values()
    )


def test_guidance_is_assumed_aloud_where_it_doubles_the_batch() -> None:
    """SDXL's denoiser sees each picture twice; FLUX's learned the scale."""
    pointers = {each.pointer for each in estimate("sdxl").assumptions}
    assert "/workload/guidance" in pointers
    assert "/workload/guidance" not in {each.pointer for each in estimate("flux").assumptions}
    assert "/workload/guidance" not in {each.pointer for each in estimate("sdxl", guidance=False).assumptions}
