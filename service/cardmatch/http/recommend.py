"""POST /recommend: which card?"""

from __future__ import annotations

import datetime as dt

from cardmatch.answers.recommend import Recommendation, RecommendRequest, recommendation
from cardmatch.catalogue.world import World
from cardmatch.http.operation import MIB, Operation
from cardmatch.text.language import Language


def _answer(world: World, request: RecommendRequest, language: Language) -> Recommendation:
    return recommendation(world, request, language, dt.datetime.now(dt.UTC).date())


OPERATIONS = (
    Operation(
        method="POST",
        path="/recommend",
        name="recommend",
        tag="questions",
        summary="Which card? Every way to run a load, best first, with what it costs and the command to start it.",
        description=(
            "For language models, training, pictures and videos, embeddings, rankings and speech: every card, count, "
            "layout and format that hardware, offers and conditions allow, best first; why each other card is left "
            "out. Presets (`profile`, `scenario`, `job.preset`) fill in the rest. With a plan to verify it."
        ),
        takes=RecommendRequest,
        gives=Recommendation,
        answer=_answer,
        example={
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "load": {"prompt_tokens": 1000, "output_tokens": 300, "requests_per_day": 10_000},
        },
        limit_bytes=4 * MIB,
    ),
)
