"""What a recommendation is about: a language model, an encoder or a pipeline, by the kind of its workload."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import msgspec

from cardmatch.answers.facts import PIPELINE, ModelFacts, model_facts
from cardmatch.answers.model import DiffusionModel, ModelReference, Resolved, check_generates, resolve_model
from cardmatch.answers.pipeline import ResolvedPipeline, resolve_pipeline
from cardmatch.catalogue.pipelines import loose_pipeline, named_pipeline, near_pipelines
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import World
from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.items.encoders import recommend_encoder
from cardmatch.engine.advice.items.pictures import recommend_pictures
from cardmatch.engine.advice.paced import paces_of
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.advice.recommend import Shelf, Subject, recommend
from cardmatch.engine.advice.training import recommend_training
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.models.diffusion.component import total_parameters
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import Assumption, Notice

_CLOSE, _FEW = 85.0, 2
AnyWorkload = Inference | Training | Diffusion | Encode


class Topic(NamedTuple):
    """The model or the pipeline that a request names, with what was understood of the name."""

    model: Resolved | ResolvedPipeline
    facts: ModelFacts
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]
    named: Named


def usual_workload(world: World, reference: ModelReference) -> AnyWorkload | None:
    """What a pipeline or an encoder is for, where a request does not say; None for all other models."""
    if isinstance(reference, DiffusionModel):
        return Diffusion()
    if not isinstance(reference, str):
        return None
    if named_pipeline(world.pipelines, reference) is not None:
        return Diffusion()
    try:
        model = resolve_model(world, reference).architecture
    except Invalid:  # to be refused with whatever is asked of it, if it is no part of a pipeline's name either
        return Diffusion() if loose_pipeline(world.pipelines, reference) is not None else None
    if "whisper" in model.family:
        return Encode(task=EncodeTask.SPEECH)
    if model.output_head or model.encoder is not None:
        return None
    return Encode(task=EncodeTask.RERANK if "rerank" in reference.lower() else EncodeTask.EMBEDDING)


def topic_of(world: World, reference: ModelReference, workload: AnyWorkload, *, stated: bool = True) -> Topic:
    """What *reference* names; where the workload was not *stated*, its kind is assumed.

    Raises Invalid with pointers under /model where *workload* is not for it.
    """
    found = _topic(world, reference, workload)
    if stated or isinstance(workload, Inference | Training):
        return found
    kind = Assumption(pointer="/workload/kind", value=str(workload.__struct_config__.tag))
    return found._replace(assumptions=(*found.assumptions, kind))


def _topic(world: World, reference: ModelReference, workload: AnyWorkload) -> Topic:
    said: str | dict[str, Any] = msgspec.to_builtins(reference)
    if isinstance(workload, Diffusion):
        found = resolve_pipeline(world, reference)
        total = total_parameters(found.pipeline)
        facts = ModelFacts(id=found.id, architecture=PIPELINE, parameters=total, active_parameters=total)
        return Topic(found, facts, found.assumptions, (), Named(said, found.repository or "./model"))
    try:
        model = resolve_model(world, reference, str(workload.__struct_config__.tag))
    except Invalid as wrong:
        raise _with_pipelines(world, reference, wrong) from None
    if isinstance(workload, Inference):
        check_generates(model, "inference")
    facts_of = model_facts(model, parameters(model.architecture))
    name = model.id or model.name or "./model"  # on a command line a folder of its name
    return Topic(model, facts_of, model.assumptions, model.notices, Named(said, name))


def _with_pipelines(world: World, reference: ModelReference, wrong: Invalid) -> Invalid:
    """*wrong*, whose suggestions begin with the pipelines that an unknown name is close to."""
    if not isinstance(reference, str) or any(fault.code is not FaultCode.UNKNOWN_MODEL for fault in wrong.faults):
        return wrong
    near = near_pipelines(world.pipelines, reference, _CLOSE)[:_FEW]
    return Invalid(*(msgspec.structs.replace(each, suggestions=(*near, *each.suggestions)) for each in wrong.faults))


def figures_of(world: World, topic: Topic, workload: AnyWorkload, wanted: Wanted, priced_on: dt.date) -> Recommended:
    """The figures of *wanted*, whose presets are filled in and whose cards are ids. Raises Invalid."""
    known, sold, model = world.calibration, shelf(world), topic.model
    if isinstance(model, ResolvedPipeline):
        assert isinstance(workload, Diffusion)  # noqa: S101 - which is what it was resolved for
        return recommend_pictures(
            model.pipeline, topic.named, workload, wanted, sold, known.diffusion, known.speed, presets(),
            priced_on=priced_on,
        )  # fmt: skip
    subject = Subject(model.architecture, model.checkpoint, model.spread, topic.named)
    if isinstance(workload, Encode):
        return recommend_encoder(
            subject, workload, wanted, sold, known.diffusion, known.speed, presets(), priced_on=priced_on
        )
    paces = paces_of(known.speed, presets().network, exact_model=model.size is None)
    if isinstance(workload, Training):
        return recommend_training(
            subject, workload, wanted, sold, known.training, presets(), priced_on=priced_on, paces=paces
        )
    assert isinstance(workload, Inference)  # noqa: S101 - the last kind of four
    return recommend(subject, workload, wanted, sold, known.serving, presets(), priced_on=priced_on, paces=paces)


def shelf(world: World) -> Shelf:
    """What *world* has for sale."""
    return Shelf(world.cards, world.offers, world.providers, world.countries, world.ownership, world.ownership_costs)
