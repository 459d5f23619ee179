"""Does a picture fit? The question of POST /estimate-vram for workloads of kind `diffusion`."""

from __future__ import annotations

from cardmatch.answers.answer import RULE_OF_THUMB_BYTES, Answer, Asked, shared_fields
from cardmatch.answers.facts import PipelineFacts
from cardmatch.answers.pipeline import ResolvedPipeline
from cardmatch.answers.placements import resolve_placements
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.diffusion.answer import DiffusionNeed, DiffusionPlacement
from cardmatch.engine.memory.diffusion.estimate import estimate_diffusion
from cardmatch.engine.memory.diffusion.workload import Diffusion
from cardmatch.engine.terms.notice import QuestionCode
from cardmatch.text.summary import Subject, diffusion_summary


class DiffusionAnswer(Answer, tag="diffusion", tag_field="kind", frozen=True, kw_only=True):
    """What a pipeline needs, and what becomes of it on each placement."""

    model: PipelineFacts
    need: DiffusionNeed
    placements: tuple[DiffusionPlacement, ...]


def diffusion_answer(world: World, model: ResolvedPipeline, workload: Diffusion, request: Asked) -> DiffusionAnswer:
    """Answer *request* about *model*. Raises Invalid with pointers into the request."""
    figures = estimate_diffusion(
        model.pipeline,
        workload,
        resolve_placements(world, request.cards, copies=True),
        world.calibration.diffusion,
        alternatives=request.alternatives,
        explained=request.explain,
    )
    subject = Subject(model.name)
    return DiffusionAnswer(
        summary=diffusion_summary(subject, workload.task.value, figures, world.card_titles, request.language),
        model=PipelineFacts(id=model.id, medium=model.pipeline.medium, parameters=figures.parameters),
        need=figures.need,
        rule_of_thumb_bytes=figures.parameters * RULE_OF_THUMB_BYTES,
        **shared_fields(
            world,
            request,
            placements=figures.placements,
            assumptions=model.assumptions + figures.assumptions,
            notices=figures.notices,
            missing=(
                (QuestionCode.PICTURE_SIZE, "/workload/width_pixels", workload.width_pixels is None),
                (QuestionCode.BATCH, "/workload/batch", workload.batch is None),
            ),
        ),
    )
