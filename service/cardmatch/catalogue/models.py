"""The models of the catalogue: normalised facts, how each was obtained, and the names that they go by."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint
from cardmatch.engine.terms.units import Parameters

ModelId = Annotated[str, Meta(min_length=1, max_length=160, description="Repository name on the model hub.")]


class Origin(StrEnum):
    """How the configuration behind a row was obtained, surest first."""

    VERBATIM = "verbatim"
    KWARGS = "kwargs"
    RECONSTRUCTED = "reconstructed"


class Verified(StrEnum):
    """What an independent source confirms: the published number of parameters, the dimensions, both or nothing."""

    BOTH = "params+dims"
    PARAMETERS = "params"
    DIMENSIONS = "dims"
    NOTHING = "none"


class ModelRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model: what its published configuration says, normalised."""

    id: ModelId
    architecture: Architecture
    checkpoint: Checkpoint
    origin: Origin
    source: Annotated[str, Meta(min_length=1, max_length=400)]
    verified: Verified
    published_parameters: Parameters | None = None
    note: Annotated[str, Meta(max_length=400)] = ""


class Alias(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Another name of the same model; *checkpoint* where that repository stores it in another format."""

    id: ModelId
    checkpoint: str | None = None


class ModelFamily(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An everyday name, in English and Chinese, and the model that it means when nothing else is said."""

    names: tuple[str, ...]
    default: ModelId


class TypicalSize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bare size such as 7B stands for: a reference model, and how far the catalogue's models of it spread."""

    reference: ModelId
    parameters_low: Parameters
    parameters_high: Parameters
    cache_bytes_per_token: Annotated[int, Meta(ge=1, le=1 << 30, description="Of the reference, in 16 bits.")]
    cache_bytes_per_token_low: Annotated[int, Meta(ge=0, le=1 << 30, description="Least of the models of this size.")]
    cache_bytes_per_token_high: Annotated[int, Meta(ge=1, le=1 << 30)]
    models: Annotated[int, Meta(ge=1, le=10_000)]


class ModelNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every name that models go by beside their ids."""

    as_of: str
    aliases: dict[str, Alias]
    families: dict[str, ModelFamily]
    same_shape: Annotated[
        dict[str, ModelId], Meta(description="Repositories whose tensors have the shapes of a catalogue model's.")
    ]
    sizes: dict[str, TypicalSize]
