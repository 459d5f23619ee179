"""POST /estimate-vram: does it fit?"""

from __future__ import annotations

import datetime as dt

from cardmatch.answers.estimate import AnyEstimate, EstimateRequest, estimate_vram
from cardmatch.catalogue.world import World
from cardmatch.http.operation import MIB, Operation
from cardmatch.text.language import Language


def _answer(world: World, request: EstimateRequest, language: Language) -> AnyEstimate:
    return estimate_vram(world, request, language, dt.datetime.now(dt.UTC).date())


OPERATIONS = (
    Operation(
        method="POST",
        path="/estimate-vram",
        name="estimateVram",
        tag="questions",
        summary="Does it fit? The GPU memory that a model and a workload need, with a verdict on each card.",
        description=(
            "GPU memory part by part, and on each card a verdict, the longest context or sequence, the most requests "
            "(micro-batch, pictures) at a time, and ways to fit. The answer's `kind` is the workload's. "
            "Only `model` is required; every default that was filled in is listed in `assumptions`."
        ),
        takes=EstimateRequest,
        gives=AnyEstimate,
        answer=_answer,
        example={
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "workload": {"kind": "inference", "context_tokens": 8192, "concurrency": 16},
            "cards": ["rtx-4090", {"card": "h100-sxm-80", "count": 2, "layout": {"tensor": 2}}],
        },
        limit_bytes=4 * MIB,
    ),
)
