"""Does it fit? The question of POST /estimate-vram."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, catalogue_facts
from cardmatch.answers.model import ModelReference, resolve_model
from cardmatch.answers.placements import alternatives, resolve_placements
from cardmatch.catalogue.world import World
from cardmatch.engine.hardware.choice import CardChoice
from cardmatch.engine.memory.answer import KvCache, Need, PlacementEstimate
from cardmatch.engine.memory.estimate import estimate_vram as estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.terms.notice import Assumption, Notice
from cardmatch.engine.terms.units import Bytes, Parameters

CardName = Annotated[str, Meta(min_length=1, max_length=80, examples=["rtx-4090"])]
Cards = Annotated[tuple[CardName | CardChoice, ...], Meta(min_length=1, max_length=64)]


class EstimateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model, a workload and the cards to try it on."""

    model: ModelReference
    workload: Inference = Inference()
    cards: Cards | None = None
    ways_to_fit: bool = True
    explain: bool = False
    language: Annotated[str, Meta(max_length=35)] | None = None
    priced_on: dt.date | None = None
    catalogue_version: Annotated[str, Meta(pattern=r"^[0-9a-f]{8,64}$(?!\n)")] | None = None


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The model that was meant."""

    id: Annotated[str | None, Meta(description="Catalogue id; null for a model given by its description.")]
    architecture: Annotated[str, Meta(description="The model_type of its configuration.")]
    parameters: Parameters
    active_parameters: Annotated[Parameters, Meta(description="Parameters that serve one token, embeddings included.")]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The missing fact that would change the answer most."""

    pointer: str
    message: str = ""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What the job needs, and what becomes of it on each placement."""

    summary: str
    model: ModelFacts
    need: Need
    kv_cache: KvCache
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="The guides' 2 GB per billion parameters.")]
    placements: tuple[PlacementEstimate, ...]
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
    catalogue: CatalogueFacts
    priced_on: dt.date
    release: str


def estimate_vram(world: World, request: EstimateRequest, today: dt.date) -> Estimate:
    """Answer *request* from *world*. Raises Invalid with pointers into the request."""
    model = resolve_model(world, request.model)
    placements = resolve_placements(world, request.cards)
    others = alternatives(world) if request.ways_to_fit else ()
    figures = estimate_serving(
        model.architecture,
        model.checkpoint,
        request.workload,
        placements,
        world.calibration.serving,
        alternatives=others,
        basis=model.basis,
    )
    return Estimate(
        summary="",
        model=ModelFacts(
            id=model.id,
            architecture=model.architecture.family,
            parameters=figures.parameters.total,
            active_parameters=figures.parameters.active,
        ),
        need=figures.need,
        kv_cache=figures.kv_cache,
        rule_of_thumb_bytes=figures.rule_of_thumb_bytes,
        placements=figures.placements,
        assumptions=figures.assumptions,
        ask_next=None,
        notices=figures.notices,
        catalogue=catalogue_facts(world),
        priced_on=request.priced_on or today,
        release=__version__,
    )
