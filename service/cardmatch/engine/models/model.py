"""A model as its files describe it: architecture and checkpoint together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.config.dialects import Dialects
from cardmatch.engine.models.config.read import describe_config
from cardmatch.engine.models.fit import fitted_to_tensors
from cardmatch.engine.models.quantization.read import read_checkpoint
from cardmatch.engine.terms.fault import Invalid


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What is computed and cached, how the weights are stored, and the sizes left to the class, by JSON pointer."""

    architecture: Architecture
    checkpoint: Checkpoint
    assumed: dict[str, int] = {}


def read_model(
    config: Mapping[str, Any],
    dialects: Dialects,
    *,
    quantization: Mapping[str, Any] | None = None,
    safetensors: Mapping[str, int] | None = None,
    complete: bool = True,
) -> Model:
    """The model of a Hugging Face config.json, its hf_quant_config.json and its element counts per dtype.

    A config that is not *complete* leaves to its class what it does not say. Raises Invalid with pointers below
    /config, /quantization and /safetensors.
    """
    try:
        described = describe_config(config, dialects, complete=complete)
    except Invalid as wrong:
        raise wrong.under("/config") from None
    architecture = described.architecture
    checkpoint = read_checkpoint(architecture, config, quantization)
    if safetensors:
        checkpoint = fitted_to_tensors(architecture, checkpoint, safetensors)
    assumed = {f"/config{pointer}": value for pointer, value in described.assumed.items()}
    return Model(architecture=architecture, checkpoint=checkpoint, assumed=assumed)
