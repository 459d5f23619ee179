"""What follows from a model's shape alone, made once for each model that requests keep naming."""

from __future__ import annotations

import functools

from cardmatch.engine.memory.remember import Same, is_small
from cardmatch.engine.memory.training.activations import encoder_layer, layers
from cardmatch.engine.memory.training.adapters import Adapters, adapters
from cardmatch.engine.memory.training.style import Saved, Style
from cardmatch.engine.memory.training.workload import Lora
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.parameters import ParameterCounts, parameters
from cardmatch.engine.models.parts import Part, parts

_REMEMBERED = 512


def trainable_parts(architecture: Architecture, stored: Checkpoint) -> tuple[Part, ...]:
    """The parts of *stored* that training libraries load: multi-token-prediction layers are left out."""
    made = _parts if is_small(architecture) else _parts.__wrapped__
    return made(Same(architecture), stored)


@functools.lru_cache(maxsize=_REMEMBERED)
def _parts(architecture: Same[Architecture], stored: Checkpoint) -> tuple[Part, ...]:
    return tuple([part for part in parts(architecture.of, stored) if part.kind is not PartKind.MTP])


def saved_layers(architecture: Architecture, style: Style) -> tuple[tuple[int, Saved], ...]:
    """For each layer group how many layers there are, and what one keeps of a token."""
    made = _layers if is_small(architecture) else _layers.__wrapped__
    return made(Same(architecture), style)


@functools.lru_cache(maxsize=_REMEMBERED)
def _layers(architecture: Same[Architecture], style: Style) -> tuple[tuple[int, Saved], ...]:
    return layers(architecture.of, style)


def saved_source(architecture: Architecture, style: Style) -> Saved:
    """What one layer of the encoder keeps of a token of its source; nothing where there is none."""
    made = _source if is_small(architecture) else _source.__wrapped__
    return made(Same(architecture), style)


@functools.lru_cache(maxsize=_REMEMBERED)
def _source(architecture: Same[Architecture], style: Style) -> Saved:
    return encoder_layer(architecture.of.encoder, style)


def added(architecture: Architecture, lora: Lora, *, experts: bool) -> Adapters:
    """The adapters that *lora* puts on *architecture*. Raises Invalid for a target that the model lacks."""
    made = _added if is_small(architecture) else _added.__wrapped__
    return made(Same(architecture), lora, experts)


@functools.lru_cache(maxsize=_REMEMBERED)
def _added(architecture: Same[Architecture], lora: Lora, experts: bool) -> Adapters:  # noqa: FBT001 - a key
    return adapters(architecture.of, lora, experts=experts)


def counts(architecture: Architecture) -> ParameterCounts:
    """The parameters of *architecture*."""
    made = _counts if is_small(architecture) else _counts.__wrapped__
    return made(Same(architecture))


@functools.lru_cache(maxsize=_REMEMBERED)
def _counts(architecture: Same[Architecture]) -> ParameterCounts:
    return parameters(architecture.of)
