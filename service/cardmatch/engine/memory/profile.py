"""What follows from a model alone, whatever the workload: made once for each model that requests keep naming."""

from __future__ import annotations

import functools
from typing import NamedTuple

from cardmatch.engine.memory.remember import Same, is_small
from cardmatch.engine.memory.weights import WeightSums, weight_sums
from cardmatch.engine.memory.widths import Width, widths
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.cache import CacheRow, by_layer
from cardmatch.engine.models.checkpoint import Checkpoint, requantised
from cardmatch.engine.models.parameters import ParameterCounts, layer_counts, parameters
from cardmatch.engine.models.parts import parts

_REMEMBERED = 512


class ModelProfile(NamedTuple):
    """A model as the engines' rules see it."""

    sums: WeightSums
    widths: tuple[Width, ...]
    cache_rows: tuple[CacheRow, ...]
    parameters: ParameterCounts


def profile(architecture: Architecture, checkpoint: Checkpoint) -> ModelProfile:
    """The profile of *architecture* whose weights *checkpoint* stores."""
    made = _profile if is_small(architecture) else _profile.__wrapped__
    return made(Same(architecture), Same(checkpoint))


@functools.lru_cache(maxsize=_REMEMBERED)
def _profile(architecture: Same[Architecture], checkpoint: Same[Checkpoint]) -> ModelProfile:
    of = architecture.of
    return ModelProfile(
        sums=weights_of(of, checkpoint.of), widths=widths(of), cache_rows=by_layer(of), parameters=parameters(of)
    )


def stored_as(architecture: Architecture, checkpoint: Checkpoint, weights: str) -> Checkpoint:
    """*checkpoint* as the tools of format *weights* would write it anew, the same object whenever it is asked for."""
    made = _stored_as if is_small(architecture) else _stored_as.__wrapped__
    return made(Same(architecture), Same(checkpoint), weights)


@functools.lru_cache(maxsize=_REMEMBERED)
def _stored_as(architecture: Same[Architecture], checkpoint: Same[Checkpoint], weights: str) -> Checkpoint:
    return requantised(architecture.of, checkpoint.of, weights)


def weights_of(architecture: Architecture, checkpoint: Checkpoint) -> WeightSums:
    """The weights of *architecture* as *checkpoint* stores them."""
    found = parts(architecture, checkpoint)
    return weight_sums(found, layer_counts(architecture), tied=architecture.tied_embeddings)
