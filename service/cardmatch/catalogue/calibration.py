"""The fitted constants that ship with this release; `tools/calibrate` writes them from truth cases."""

from __future__ import annotations

import functools

import msgspec

from cardmatch.catalogue.bundle import read
from cardmatch.engine.memory.calibration import MemoryCalibration
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.training.calibration import TrainingCalibration
from cardmatch.engine.speed.calibration import SpeedCalibration


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Every room's constants."""

    serving: MemoryCalibration
    training: TrainingCalibration
    speed: SpeedCalibration
    diffusion: DiffusionCalibration


@functools.cache
def calibration() -> Calibration:
    """The bundled constants, read once a process."""
    return Calibration(
        serving=read("calibration/serving.json", MemoryCalibration),
        training=read("calibration/training.json", TrainingCalibration),
        speed=read("calibration/speed.json", SpeedCalibration),
        diffusion=read("calibration/diffusion.json", DiffusionCalibration),
    )
