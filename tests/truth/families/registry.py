"""Every family that is scored."""

from __future__ import annotations

from tests.truth.families.diffusion import DiffusionFamily
from tests.truth.families.image_speed import ImageSpeedFamily
from tests.truth.families.llamacpp import LlamaCppFamily
from tests.truth.families.mlperf import MlperfFamily
from tests.truth.families.serving import ServingFamily
from tests.truth.families.speed import SpeedByCardFamily, SpeedFamily
from tests.truth.families.training import TrainingFamily
from tests.truth.families.training_speed import TrainingSpeedFamily
from tests.truth.families.transformers import TransformersFamily
from tests.truth.frame import Family

FAMILIES: tuple[Family, ...] = (
    ServingFamily(),
    TransformersFamily(),
    LlamaCppFamily(),
    TrainingFamily(),
    DiffusionFamily(),
    SpeedFamily(),
    SpeedByCardFamily(),
    MlperfFamily(),
    TrainingSpeedFamily(),
    ImageSpeedFamily(),
)
