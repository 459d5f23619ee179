"""Ways to fit hold what they promise."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.placements import resolve_placement
from cardmatch.engine.memory.answer import WayToFit
from cardmatch.engine.memory.diffusion.estimate import estimate_diffusion
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.verdict import Verdict
from tests.engine.memory.diffusion.test_estimate import WORLD, estimate, pipeline


def _done(name: str, card: str, fields: dict[str, Any], way: WayToFit) -> Verdict:
    """The verdict once *way* was followed."""
    changed: dict[str, Any] = {**fields, "formats": dict(fields.get("formats", {}))}
    for change in way.changes:
        steps = change.pointer.split("/")[1:]
        if steps[0] == "cards":
            card = str(change.value)
        elif steps[1] == "formats":
            changed["formats"][steps[2]] = change.value
        else:
            changed[steps[1]] = change.value
    found = estimate_diffusion(
        pipeline(name),
        msgspec.convert(changed, Diffusion),
        (resolve_placement(WORLD, card),),
        WORLD.calibration.diffusion,
    )
    return found.placements[0].verdict


@pytest.mark.parametrize(
    ("name", "card", "fields"),
    [
        ("flux", "rtx-4090", {}),
        ("sdxl", "rtx-4090", {"batch": 16}),
        ("sdxl", "rtx-4090", {"task": "full"}),
        ("flux", "rtx-4090", {"task": "lora"}),
        ("hunyuan video", "a100-sxm-80", {}),
        ("wan 2.1", "rtx-4090", {}),
    ],
)
def test_a_way_gives_the_verdict_that_it_names(name: str, card: str, fields: dict[str, Any]) -> None:
    """Each way, followed, is answered with its verdict."""
    ways = estimate(name, card, ways=True, **fields).placements[0].ways_to_fit
    assert ways
    for way in ways:
        assert _done(name, card, fields, way) is way.verdict, way


def test_flux_on_a_4090_is_quantised_or_offloaded() -> None:
    """What people do: NF4 (12.6 GiB loaded, published), or components in host memory."""
    ways = estimate("flux", "rtx-4090", ways=True).placements[0].ways_to_fit
    pointers = {change.pointer for way in ways for change in way.changes}
    assert "/workload/formats/transformer" in pointers
    assert "/workload/offload" in pointers


def test_what_fits_needs_no_way() -> None:
    """SDXL on 24 GB."""
    assert estimate("sdxl", "rtx-4090", ways=True).placements[0].ways_to_fit == ()
