"""The requests that are measured, each with its engine call alone and its whole answer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import msgspec

from cardmatch.answers.estimate import EstimateRequest, estimate_vram
from cardmatch.answers.model import resolve_model
from cardmatch.answers.placements import resolve_placements
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.text.language import Language

EXAMPLES = Path(__file__).resolve().parents[2] / "openapi" / "examples"
CARDS = ["rtx-4090", "a100-sxm-40", "a100-sxm-80", "h100-sxm-80"]


class Question(msgspec.Struct, frozen=True):
    """A request: its path and body, and the same as calls."""

    name: str
    path: str
    body: bytes
    engine: Callable[[], object]
    answer: Callable[[], object]
    engine_mark: float


def _estimate() -> Question:
    example = json.loads((EXAMPLES / "estimate-architecture.json").read_text())
    body = json.dumps({**example["request"]["body"], "cards": CARDS, "ways_to_fit": False}).encode()
    request = msgspec.json.decode(body, type=EstimateRequest)
    world = bundled()
    model = resolve_model(world, request.model)
    placements = resolve_placements(world, request.cards)
    calibration = world.calibration.serving
    today = dt.date(2026, 12, 1)
    return Question(
        name="estimate over four cards",
        path="/estimate-vram",
        body=body,
        engine=lambda: estimate_serving(
            model.architecture, model.checkpoint, request.workload, placements, calibration, spread=model.spread
        ),
        answer=lambda: estimate_vram(world, request, Language.EN, today),
        engine_mark=150.0,
    )


ESTIMATE = _estimate()
