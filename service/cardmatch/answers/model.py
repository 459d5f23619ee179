"""How a request names a model, and what that name resolves to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cardmatch.answers.same_shape import same_shape_checkpoint
from cardmatch.catalogue.guests import ModelWanted, is_hub_id
from cardmatch.catalogue.names.models import Found, Match, resolve_model_name
from cardmatch.catalogue.pipelines import named_pipeline
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.job import Spread
from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint, plain, requantised
from cardmatch.engine.models.consistency import check_architecture
from cardmatch.engine.models.gguf.read import read_gguf
from cardmatch.engine.models.model import Model, read_model
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import FaultCode, Invalid, refusal
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Params, Severity


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


ComponentName = Annotated[str, Meta(min_length=1, max_length=64, examples=["transformer"])]


class DiffusionModel(_Named, tag="diffusion", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pipeline: of the catalogue, or by its components (`unet` or `transformer`, `text_encoder`, `vae`).

    A component is its config.json as it is, or `{"parameters": N}`. With both, components replace the pipeline's.
    """

    pipeline: Annotated[str, Meta(min_length=1, max_length=200, examples=["black-forest-labs/FLUX.1-dev"])] | None = (
        None
    )
    components: Annotated[dict[ComponentName, dict[str, Any]], Meta(max_length=16)] = {}


ModelName = Annotated[str, Meta(min_length=1, max_length=200, examples=["meta-llama/Llama-3.1-8B-Instruct", "7B"])]
ModelReference = ModelName | ConfigModel | GgufModel | ArchitectureModel | DiffusionModel


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a reference means. *size* is set for a bare size, whose reference model stands for others that *spread*.

    *repository* is where engines find the weights, and *published* their format there, where it is not *checkpoint*'s.
    """

    id: str | None
    name: str | None
    architecture: Architecture
    checkpoint: Checkpoint
    repository: str | None = None
    published: str | None = None
    size: str | None = None
    spread: Spread | None = None
    revision: str | None = None
    assumptions: tuple[Assumption, ...] = ()
    notices: tuple[Notice, ...] = ()


AnyReference = str | ConfigModel | GgufModel | ArchitectureModel | DiffusionModel


def resolve_model(world: World, reference: AnyReference, workload: str = "inference") -> Resolved:
    """The architecture and checkpoint that *reference* names; a pipeline is of the wrong kind for *workload*.

    Raises Invalid with pointers under /model, and ModelWanted for an id that only a hub may know.
    """
    try:
        if isinstance(reference, DiffusionModel):
            raise wrong_kind("diffusion", workload, "diffusion")
        if isinstance(reference, str):
            if named_pipeline(world.pipelines, reference) is not None:
                raise wrong_kind("diffusion", workload, "diffusion")
            return _named(world, reference)
        return _DESCRIBED[type(reference)](world, reference)
    except Invalid as wrong:
        raise wrong.under("/model") from None


def _named(world: World, name: str) -> Resolved:
    guest = _guest(world, name)
    if guest is not None:
        return guest
    found = resolve_model_name(world.model_index, name)
    row = world.models[found.id]
    checkpoint, notices = row.checkpoint, _notices(found, name)
    if found.match is Match.SAME_SHAPE:
        checkpoint, notices = same_shape_checkpoint(row, name)
    elif found.weights is not None:
        checkpoint = requantised(row.architecture, checkpoint, found.weights)
    said = is_hub_id(name) and (found.match in _EXACTLY or found.weights is not None)
    return Resolved(
        id=row.id,
        repository=name if said else row.id,
        published=None if said or found.weights is None else row.checkpoint.format,
        name=found.size or row.id.rpartition("/")[2],
        architecture=row.architecture,
        checkpoint=checkpoint,
        size=found.size,
        spread=_spread(world, found.size),
        assumptions=() if found.match in _SAID else (Assumption(pointer="/model", value=row.id),),
        notices=notices,
    )


def wrong_kind(model_kind: str, workload: str, fitting: str) -> Invalid:
    """A model of *model_kind* does not do *workload*, but *fitting*."""
    return refusal(FaultCode.WRONG_KIND_OF_MODEL, "", model_kind=model_kind, workload=workload, fitting=fitting)


def encodes(model: Architecture) -> bool:
    """Whether *model* encodes text or listens, rather than writes."""
    return model.encoder is not None or not model.output_head


def check_generates(model: Resolved, workload: str) -> None:
    """Refuse *workload* of chats for what encodes text or listens. Raises Invalid at /model."""
    if encodes(model.architecture):
        raise wrong_kind("encoder", workload, "encode").under("/model")


_SAID = frozenset({Match.ID, Match.ALIAS})


def _guest(world: World, name: str) -> Resolved | None:
    """The model of a hub that *name* is the id of; None where the catalogue has it, or no hub does. Raises Invalid."""
    if world.guests is None or not is_hub_id(name) or _is_known(world, name):
        return None
    if name not in world.guests:
        raise ModelWanted(name)
    guest = world.guests[name]
    if guest is None:
        return None
    try:
        model = read_model(guest.config, world.dialects, quantization=guest.quantization, safetensors=guest.safetensors)
    except Invalid as wrong:  # somewhere in a file that the asker did not send
        raise Invalid(*(msgspec.structs.replace(fault, pointer="") for fault in wrong.faults)) from None
    return Resolved(
        id=guest.id,
        repository=guest.id,
        name=guest.id.rpartition("/")[2],
        architecture=model.architecture,
        checkpoint=model.checkpoint,
        revision=guest.revision,
    )


def _is_known(world: World, name: str) -> bool:
    """Whether the catalogue has exactly this model; with a hub to ask, what merely resembles it does not do."""
    try:
        return resolve_model_name(world.model_index, name).match in _EXACTLY
    except Invalid:
        return False


_EXACTLY = frozenset({Match.ID, Match.ALIAS, Match.SAME_SHAPE})


def _spread(world: World, size: str | None) -> Spread | None:
    if size is None:
        return None
    typical = world.model_index.names.sizes[size]
    total = parameters(world.models[typical.reference].architecture).total
    return Spread(
        weights_low=min(1.0, typical.parameters_low / total),
        weights_high=max(1.0, typical.parameters_high / total),
        cache_low=min(1.0, typical.cache_bytes_per_token_low / typical.cache_bytes_per_token),
        cache_high=max(1.0, typical.cache_bytes_per_token_high / typical.cache_bytes_per_token),
    )


def _notices(found: Found, name: str) -> tuple[Notice, ...]:
    if found.match is Match.SIZE:
        params: Params = {"model": found.size or name, "reference": found.id}
        return (Notice(code=NoticeCode.TYPICAL_MODEL, severity=Severity.CAUTION, params=params),)
    return ()


def _from_architecture(_: World, reference: ArchitectureModel) -> Resolved:
    try:
        check_architecture(reference.architecture)
    except Invalid as invalid:
        raise invalid.under("/architecture") from None
    return Resolved(id=None, name=None, architecture=reference.architecture, checkpoint=plain())


def _from_config(world: World, reference: ConfigModel) -> Resolved:
    return _described(
        read_model(
            reference.config, world.dialects, quantization=reference.quantization, safetensors=reference.safetensors
        )
    )


def _from_gguf(world: World, reference: GgufModel) -> Resolved:
    return _described(
        read_gguf(reference.metadata, world.dialects, tensors=reference.tensors, file_bytes=reference.file_bytes)
    )


def _described(model: Model) -> Resolved:
    assumed = tuple(Assumption(pointer=f"/model{pointer}", value=value) for pointer, value in model.assumed.items())
    return Resolved(
        id=None, name=None, architecture=model.architecture, checkpoint=model.checkpoint, assumptions=assumed
    )


_DESCRIBED: dict[type, Callable[[World, Any], Resolved]] = {
    ArchitectureModel: _from_architecture,
    ConfigModel: _from_config,
    GgufModel: _from_gguf,
}
