"""How a request names a model, and what that name resolves to."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.catalogue.world import World
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint, plain
from cardmatch.engine.models.consistency import check_architecture
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Notice


class _Named(msgspec.Struct, tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model given by its own description."""


class ConfigModel(_Named, tag="config", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Hugging Face `config.json` as it is, with its `hf_quant_config.json` and element counts per dtype if known."""

    config: dict[str, Any]
    quantization: dict[str, Any] | None = None
    safetensors: Annotated[dict[str, Annotated[int, Meta(ge=0, le=10**15)]], Meta(max_length=32)] | None = None


class GgufModel(_Named, tag="gguf", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The metadata of a GGUF file, with its tensor table and size if known. Token arrays may be given as length."""

    metadata: dict[str, Any]
    tensors: list[Any] | None = None
    file_bytes: Annotated[int, Meta(ge=1, le=1 << 50)] | None = None


class ArchitectureModel(_Named, tag="architecture", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The architecture itself, for models that no reader knows yet."""

    architecture: Architecture


ModelName = Annotated[str, Meta(min_length=1, max_length=200, examples=["meta-llama/Llama-3.1-8B-Instruct", "7B"])]
ModelReference = ModelName | ConfigModel | GgufModel | ArchitectureModel


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a reference means. `basis` is rule_of_thumb for a bare size, whose reference model stands for others."""

    id: str | None
    name: str | None
    architecture: Architecture
    checkpoint: Checkpoint
    notices: tuple[Notice, ...] = ()
    basis: Basis = Basis.EXACT


def resolve_model(world: World, reference: str | ConfigModel | GgufModel | ArchitectureModel) -> Resolved:
    """The architecture and checkpoint that *reference* names. Raises Invalid with pointers under /model."""
    del world
    if isinstance(reference, ArchitectureModel):
        try:
            check_architecture(reference.architecture)
        except Invalid as invalid:
            raise invalid.under("/model/architecture") from None
        return Resolved(id=None, name=None, architecture=reference.architecture, checkpoint=plain())
    raise Invalid(
        Fault(code=FaultCode.WRONG_VALUE, pointer="/model", params={"value": "model", "known": ["architecture"]})
    )
