"""Does an encoder fit? The question of POST /estimate-vram for workloads of kind `encode`."""

from __future__ import annotations

from cardmatch.answers.answer import RULE_OF_THUMB_BYTES, Answer, Asked, shared_fields
from cardmatch.answers.facts import ModelFacts, model_facts
from cardmatch.answers.model import Resolved
from cardmatch.answers.placements import resolve_placements
from cardmatch.catalogue.world import World
from cardmatch.engine.memory.encode.answer import EncodeNeed, EncodePlacement
from cardmatch.engine.memory.encode.estimate import estimate_encode
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.terms.notice import QuestionCode
from cardmatch.text.summary import Subject, encode_summary


class EncodeAnswer(Answer, tag="encode", tag_field="kind", frozen=True, kw_only=True):
    """What an encoder needs, and what becomes of it on each placement."""

    model: ModelFacts
    need: EncodeNeed
    placements: tuple[EncodePlacement, ...]


def encode_answer(world: World, model: Resolved, workload: Encode, request: Asked) -> EncodeAnswer:
    """Answer *request* about *model*. Raises Invalid with pointers into the request."""
    figures = estimate_encode(
        model.architecture,
        model.checkpoint,
        workload,
        resolve_placements(world, request.cards, copies=True),
        world.calibration.diffusion,
        alternatives=request.alternatives,
        explained=request.explain,
    )
    subject = Subject(model.name)
    unsaid = workload.sequence_tokens is None and workload.task is not EncodeTask.SPEECH
    return EncodeAnswer(
        summary=encode_summary(subject, workload.task.value, figures, world.card_titles, request.language),
        model=model_facts(model, figures.parameters),
        need=figures.need,
        rule_of_thumb_bytes=figures.parameters.total * RULE_OF_THUMB_BYTES,
        **shared_fields(
            world,
            request,
            placements=figures.placements,
            assumptions=model.assumptions + figures.assumptions,
            notices=model.notices + figures.notices,
            missing=(
                (QuestionCode.MODEL, "/model", model.size is not None),
                (QuestionCode.BATCH, "/workload/batch", workload.batch is None),
                (QuestionCode.SEQUENCE_TOKENS, "/workload/sequence_tokens", unsaid),
            ),
        ),
    )
