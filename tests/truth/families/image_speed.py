"""Seconds of image and video pipelines against published figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cardmatch.catalogue.denoisers import denoisers
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import chip_of
from cardmatch.engine.speed.images import GROUP, Denoiser, Picture, image_speed
from tests.truth.cases import Case, Skipped
from tests.truth.frame import Figure, LeaveOut, Mark, Scored
from tests.truth.statistics import median
from tests.truth.world import TruthWorld
from tools.calibrate.images import Made, lot_of, with_images

MLPERF = Picture(width_pixels=1024, height_pixels=1024, steps=20, compiled=True)
"""The benchmark's task: 1024 × 1024, 20 steps, guided (MLPerf Inference, stable-diffusion-xl)."""

PLAIN = {"bf16", "fp16"}
COGVIDEO = "THUDM/CogVideoX-5b__transformer"
_MEDIAN = 0.15


class ImageSpeedFamily:
    """Rows of speed and diffusion_memory that state how long pictures took."""

    name = "image_speed"
    files = ("speed", "diffusion_memory")
    leave_out = LeaveOut.SOURCE_OR_CARD

    def about(self, case: Case) -> bool:
        """Whether a row times pictures in 16 bits (MLPerf: in any format) wholly on a card that it names."""
        setup = case.setup
        if case.family == "speed":
            return bool(setup["kind"] == "diffusion")
        timed = case.measured["seconds"] is not None and setup["steps"] is not None and setup["card"] is not None
        formats = setup["component_formats"] or {}
        network = formats.get("transformer") or formats.get("unet")
        return timed and setup["task"] == "inference" and setup["offload"] in {None, "none"} and network in PLAIN

    def prepare(self, case: Case, world: TruthWorld) -> tuple[Case, Made]:
        """The row as an observation. Raises Skipped."""
        setup = case.setup
        network = _network(case)
        if setup["card"] not in world.catalogue.cards:
            raise Skipped("card not in the catalogue")
        if case.family == "speed":
            picture, seconds = MLPERF, (setup["count"] or 1) / case.measured["samples_per_second"]
        else:
            picture, seconds = _picture(case), case.measured["seconds"]
        chip = chip_of(world.catalogue.cards[setup["card"]])
        return case, Made(case.id, case.origin, setup["card"], network, picture, chip, seconds)

    def lots(self, prepared: Sequence[tuple[Case, Made]]) -> dict[str, list[int]]:
        """What is left out together, by position."""
        found: dict[str, list[int]] = defaultdict(list)
        for position, (_, made) in enumerate(prepared):
            found[lot_of(made)].append(position)
        return dict(found)

    def fit(self, prepared: Sequence[tuple[Case, Made]], world: TruthWorld) -> SpeedCalibration:
        """Constants and spread from these rows alone."""
        empty = SpeedCalibration(as_of=world.catalogue.calibration.speed.as_of, constants={}, spreads={}, seen={})
        return with_images(empty, [made for _, made in prepared], ranges=False)

    def score(self, prepared: tuple[Case, Made], fitted: SpeedCalibration) -> Scored:
        """The measured seconds beside the predicted ones."""
        case, made = prepared
        band = image_speed(made.network, made.picture, made.chip, fitted).seconds
        figure = Figure(group=GROUP, predicted=band.expected, measured=made.seconds, low=band.low, high=band.high)
        return Scored(case=case, figures=(figure,))

    def marks(self, scored: Sequence[Scored]) -> tuple[Mark, ...]:
        """All pipelines together."""
        middle = median([abs(figure.error) for row in scored for figure in row.figures])
        return (
            Mark(
                name="diffusion speed",
                figure=f"median {middle:.1%} of {len(scored)}",
                wanted="≤ 15 %",
                met=middle <= _MEDIAN,
            ),
        )


def _network(case: Case) -> Denoiser:
    name = case.model.ref or (COGVIDEO if "cogvideox-5b" in case.id else "")
    if name not in denoisers():
        raise Skipped("network without facts")
    return denoisers()[name]


def _picture(case: Case) -> Picture:
    setup = case.setup
    return Picture(
        width_pixels=setup["width_pixels"],
        height_pixels=setup["height_pixels"],
        steps=setup["steps"],
        frames=setup["frames"] or 1,
        batch=setup["batch"] or 1,
        compiled="compile" in case.id.rsplit("-", 1)[-1],
    )
