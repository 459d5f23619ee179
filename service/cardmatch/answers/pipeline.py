"""How a request names an image or video pipeline, and what that resolves to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cardmatch.answers.model import AnyReference, DiffusionModel, wrong_kind
from cardmatch.catalogue.names.models import resolve_model_name
from cardmatch.catalogue.pipelines import PipelineRow, loose_pipeline, named_pipeline, near_pipelines
from cardmatch.catalogue.world import World
from cardmatch.engine.models.config.keys import integer
from cardmatch.engine.models.diffusion.component import (
    Autoencoder,
    Component,
    Extra,
    Medium,
    Named,
    Pipeline,
    TextEncoder,
    Transformer,
    UNet,
)
from cardmatch.engine.models.diffusion.read import read_component
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption

_KIND = "diffusion"
_MOST_PARAMETERS = 10**13


class ResolvedPipeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a reference means; diffusers loads it from *repository*."""

    id: str | None
    name: str | None
    pipeline: Pipeline
    repository: str | None = None
    assumptions: tuple[Assumption, ...] = ()


def resolve_pipeline(world: World, reference: AnyReference) -> ResolvedPipeline:
    """The pipeline that *reference* names. Raises Invalid with pointers under /model: a language model cannot paint."""
    try:
        if isinstance(reference, str):
            return _named(world, reference)
        if isinstance(reference, DiffusionModel):
            return _described(world, reference)
        raise wrong_kind("language_model", _KIND, "inference")
    except Invalid as wrong:
        raise wrong.under("/model") from None


def _named(world: World, name: str) -> ResolvedPipeline:
    known = world.pipelines
    row = named_pipeline(known, name)
    if row is not None:
        return _of_row(row)
    _refuse_language_model(world, name)
    loose = loose_pipeline(known, name)
    if loose is None:
        suggestions = near_pipelines(known, name) or tuple(known.rows)[:6]
        raise Invalid(
            Fault(code=FaultCode.UNKNOWN_PIPELINE, pointer="", params={"name": name}, suggestions=suggestions)
        )
    return msgspec.structs.replace(_of_row(loose), assumptions=(Assumption(pointer="/model", value=loose.id),))


def _refuse_language_model(world: World, name: str) -> None:
    try:
        resolve_model_name(world.model_index, name)
    except Invalid:
        return
    raise wrong_kind("language_model", _KIND, "inference")


def _of_row(row: PipelineRow) -> ResolvedPipeline:
    return ResolvedPipeline(id=row.id, name=row.title, pipeline=row.pipeline, repository=row.repository or row.id)


def _described(world: World, reference: DiffusionModel) -> ResolvedPipeline:
    if reference.pipeline is None and not reference.components:
        raise Invalid(Fault(code=FaultCode.EXACTLY_ONE_OF, pointer="", params={"fields": ["pipeline", "components"]}))
    base: Pipeline | None = None
    if reference.pipeline is not None:
        try:
            found = _named(world, reference.pipeline)
        except Invalid as wrong:
            raise wrong.under("/pipeline") from None
        if not reference.components:
            return found
        base = found.pipeline
    given = {name: _component(world, name, what) for name, what in reference.components.items()}
    return ResolvedPipeline(id=None, name=None, pipeline=_pipeline(base, given))


def _pipeline(base: Pipeline | None, given: Mapping[str, Named]) -> Pipeline:
    if base is None:
        decoders = [named.component for named in given.values() if isinstance(named.component, Autoencoder)]
        video = any(decoder.temporal > 1 for decoder in decoders)
        return Pipeline(components=tuple(given.values()), medium=Medium.VIDEO if video else Medium.IMAGE)
    kept = [given.get(named.name, named) for named in base.components]
    held = {named.name for named in kept}
    added = [named for name, named in given.items() if name not in held]
    return msgspec.structs.replace(base, components=(*kept, *added))


def _component(world: World, name: str, what: dict[str, Any]) -> Named:
    pointer = "/components/" + name.replace("~", "~0").replace("/", "~1")
    try:
        if what.keys() == {"parameters"}:
            count = integer(what["parameters"], "/parameters", low=1, high=_MOST_PARAMETERS)
            return Named(name=name, component=_sized(name, count), basis=Basis.RULE_OF_THUMB)
        return Named(name=name, component=read_component(what, world.dialects))
    except Invalid as wrong:
        raise wrong.under(pointer) from None


def _sized(name: str, count: int) -> Component:
    """A component of *count* parameters, shaped like others of its kind: its role is told by its name."""
    for word, made in _ROLES.items():
        if word in name.lower():
            return made(count)
    raise Invalid(Fault(code=FaultCode.COMPONENT_UNKNOWN, pointer="", params={"name": name, "known": list(_ROLES)}))


def _unet(count: int) -> UNet:
    """Channels grow with the root of the size from SDXL's 320, 640 and 1280 for 2.6 billion."""
    outer = max(32, round(320 * math.sqrt(count / 2_567_463_684)))
    return UNet(parameters=count, block_parameters=count // 5, channels=(outer, 2 * outer, 4 * outer))


def _transformer(count: int) -> Transformer:
    """Width and depth grow alike with the cube root of the size, from FLUX's 3072 and 57 for 11.9 billion."""
    scale = (count / 11_901_408_320) ** (1 / 3)
    layers = max(1, round(57 * scale))
    width = max(64, round(3072 * scale))
    return Transformer(
        parameters=count,
        block_parameters=count // layers,
        width=width,
        layers=layers,
        heads=max(1, width // 128),
        patch=2,
        text_tokens=512,
    )


def _text(count: int) -> TextEncoder:
    """Width by the cube root of the size, from T5-XXL's 4096 and 24 layers for 4.8 billion."""
    width = max(64, round(4096 * (count / 4_762_310_656) ** (1 / 3)))
    return TextEncoder(parameters=count, block_parameters=count // 24, width=width, layers=24, tokens=512)


def _autoencoder(count: int) -> Autoencoder:
    """Stable Diffusion's shape, whatever the size."""
    return Autoencoder(parameters=count, block_parameters=count // 4, decoder_channels=256, encoder_channels=128)


_ROLES: dict[str, Callable[[int], Component]] = {
    "unet": _unet,
    "transformer": _transformer,
    "text_encoder": _text,
    "vae": _autoencoder,
    "safety_checker": lambda count: Extra(parameters=count),
    "image_encoder": lambda count: Extra(parameters=count),
}
