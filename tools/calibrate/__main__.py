"""Fit the constants of every room from truth cases and write them where the catalogue reads them.

    python -m tools.calibrate [--cases DIR] [--only serving|training|speed|diffusion]

Only the constants of the engines that these cases speak of are written; whatever else the file holds stays.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.speed.calibration import SpeedCalibration
from tests.truth.cases import COMMITTED, Skipped
from tests.truth.families.diffusion import DiffusionFamily
from tests.truth.families.diffusion_request import Prepared as DiffusionRow
from tests.truth.families.image_speed import ImageSpeedFamily
from tests.truth.families.llamacpp import LlamaCppFamily
from tests.truth.families.serving import ServingFamily
from tests.truth.families.speed import SpeedFamily
from tests.truth.families.training import TrainingFamily
from tests.truth.families.training_request import Prepared as TrainingRow
from tests.truth.families.training_speed import TrainingSpeedFamily
from tests.truth.families.transformers import TransformersFamily
from tests.truth.frame import Family
from tests.truth.scoring import cases_of
from tests.truth.world import TruthWorld
from tools.calibrate.diffusion import calibrate as calibrate_diffusion
from tools.calibrate.images import with_images
from tools.calibrate.speed import calibrate as calibrate_speed
from tools.calibrate.speed import written as speed_written
from tools.calibrate.training import calibrate as calibrate_training
from tools.calibrate.training import written as training_written
from tools.calibrate.training_speed import with_training

DATA = Path(__file__).resolve().parents[2] / "service/cardmatch/catalogue/data/calibration"
SERVING, TRAINING = DATA / "serving.json", DATA / "training.json"
SPEED, DIFFUSION = DATA / "speed.json", DATA / "diffusion.json"


def fit(cases: Path, world: TruthWorld) -> MemoryCalibration:
    """The calibration that *cases* give; engines without cases keep the catalogue's constants."""
    serving, transformers, llama_cpp = ServingFamily(), TransformersFamily(), LlamaCppFamily()
    found = serving.fit(_prepared(serving, cases, world), world)
    alone = transformers.fit(_prepared(transformers, cases, world), world)
    buffers = llama_cpp.fit(_prepared(llama_cpp, cases, world), world)
    return msgspec.structs.replace(
        found,
        transformers=alone.transformers,
        llama_cpp=buffers.llama_cpp,
        as_of=dt.datetime.now(tz=dt.UTC).date().isoformat(),
    )


def fit_training(cases: Path, world: TruthWorld) -> TrainingCalibration:
    """The training constants; each source is left out of the fit that its residuals and the spreads come from."""
    rows: list[TrainingRow] = _prepared(TrainingFamily(), cases, world)
    seen = [each for row in rows for each in row.observations]
    return calibrate_training(seen, dt.datetime.now(tz=dt.UTC).date().isoformat())


def fit_speed(cases: Path, world: TruthWorld) -> SpeedCalibration:
    """The speed constants, with their ranges and residuals over fits that leave sources out."""
    seen = [each for _, each in _prepared(SpeedFamily(), cases, world)]
    served = calibrate_speed(seen, dt.datetime.now(tz=dt.UTC).date().isoformat(), ranges=True)
    trained = with_training(served, [each for _, each in _prepared(TrainingSpeedFamily(), cases, world)])
    return with_images(trained, [each for _, each in _prepared(ImageSpeedFamily(), cases, world)])


def fit_diffusion(cases: Path, world: TruthWorld) -> DiffusionCalibration:
    """The diffusion constants, as the training ones."""
    rows = [row for row in _prepared(DiffusionFamily(), cases, world) if isinstance(row, DiffusionRow)]
    seen = [each for row in rows for each in row.observations]
    return calibrate_diffusion(seen, dt.datetime.now(tz=dt.UTC).date().isoformat())


def _prepared(family: Family, cases: Path, world: TruthWorld) -> list[Any]:
    found = []
    for case in cases_of(family, cases):
        try:
            if case.exclude is None:
                found.append(family.prepare(case, world))
        except Skipped:
            continue
    return found


def written(calibration: MemoryCalibration) -> str:
    """The file's text: two levels of indentation, so that a constant is a line."""
    return msgspec.json.format(msgspec.json.encode(calibration), indent=1).decode() + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path, default=COMMITTED)
    parser.add_argument("--only", choices=("serving", "training", "speed", "diffusion"), help="one of the files")
    asked = parser.parse_args()
    world = TruthWorld()
    if asked.only in {None, "serving"}:
        SERVING.write_text(written(fit(asked.cases, world)), encoding="utf-8")
        print(f"{SERVING}: written")
    if asked.only in {None, "training"}:
        TRAINING.write_text(training_written(fit_training(asked.cases, world)), encoding="utf-8")
        print(f"{TRAINING}: written")
    if asked.only in {None, "speed"}:
        SPEED.write_text(speed_written(fit_speed(asked.cases, world)), encoding="utf-8")
        print(f"{SPEED}: written")
    if asked.only in {None, "diffusion"}:
        DIFFUSION.write_text(training_written(fit_diffusion(asked.cases, world)), encoding="utf-8")
        print(f"{DIFFUSION}: written")


if __name__ == "__main__":
    main()
