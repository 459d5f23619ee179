"""Does a training run fit? The question of POST /estimate-vram for workloads of kind `training`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from cardmatch.answers.answer import Answer, Asked, shared_fields
from cardmatch.answers.facts import ModelFacts, model_facts
from cardmatch.answers.model import Resolved
from cardmatch.answers.placements import resolve_placements
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.training.answer import TrainingNeed, TrainingPlacement
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.terms.notice import QuestionCode
from cardmatch.engine.terms.units import Bytes
from cardmatch.text.summary import Subject, training_summary


class TrainingAnswer(Answer, tag="training", tag_field="kind", frozen=True, kw_only=True):
    """What training needs, and what becomes of it on each placement."""

    model: ModelFacts
    need: TrainingNeed
    rule_of_thumb_bytes: Annotated[Bytes, Meta(description="16 bytes a parameter: mixed-precision Adam.")]
    placements: tuple[TrainingPlacement, ...]


def training_answer(world: World, model: Resolved, workload: Training, request: Asked) -> TrainingAnswer:
    """Answer *request* about *model*. Raises Invalid with pointers into the request."""
    figures = estimate_training(
        model.architecture,
        model.checkpoint,
        workload,
        resolve_placements(world, request.cards, copies=True),
        world.calibration.training,
        alternatives=request.alternatives,
        spread=model.spread,
        explained=request.explain,
    )
    subject = Subject(model.name, is_size=model.size is not None)
    return TrainingAnswer(
        summary=training_summary(subject, workload.method.value, figures, world.card_titles, request.language),
        model=model_facts(model, figures.parameters),
        need=figures.need,
        rule_of_thumb_bytes=figures.rule_of_thumb_bytes,
        **shared_fields(
            world,
            request,
            placements=figures.placements,
            assumptions=model.assumptions + figures.assumptions,
            notices=model.notices + figures.notices,
            missing=(
                (QuestionCode.MODEL, "/model", model.size is not None),
                (QuestionCode.SEQUENCE_TOKENS, "/workload/sequence_tokens", workload.sequence_tokens is None),
                (QuestionCode.MICRO_BATCH, "/workload/micro_batch", workload.micro_batch is None),
                (QuestionCode.FRAMEWORK, "/workload/framework", workload.framework is None),
            ),
        ),
    )
