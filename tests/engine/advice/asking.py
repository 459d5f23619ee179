"""The search asked directly: a small request on the bundled catalogue, or on part of it, with a simple pace."""

from __future__ import annotations

import datetime as dt
from typing import Any

from cardmatch.answers.model import resolve_model
from cardmatch.answers.subjects import shelf
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.pace import Curve, Paces, Served
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.advice.recommend import Shelf, Subject, recommend
from cardmatch.engine.hardware.card import Card
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.terms.band import Basis

DAY = dt.date(2026, 11, 30)
NO_SPEED = Paces()


def roofline(
    job: ServingJob, _engine: Any, card: Card, where: Placement, prompt_tokens: int, output_tokens: int
) -> Curve:
    """Weights read once a step and 100 TFLOPS of prefill: enough to order cards, and to slow a full batch down."""
    share = (where.device.bandwidth_gb_s or card.bandwidth_gb_s) * 1e9 * where.count * 0.7
    cache = 2 * 32 * 1024 * (prompt_tokens + output_tokens / 2)

    def at(batch: float) -> Served:
        step = (job.sums.total + batch * cache) / share
        prefill = 2 * 8e9 * prompt_tokens / (1e14 * where.count)
        tpot = step + batch * prefill / output_tokens
        life = prefill + output_tokens * tpot
        return Served(batch, prefill + step, tpot, batch / life, 0.8, 1.25, Basis.EXTRAPOLATED)

    return at


WITH_SPEED = Paces(serving=roofline)


def asked(
    wanted: Wanted,
    *,
    model: str = "llama 3.1 8b",
    workload: Inference | None = None,
    on: Shelf | None = None,
    paces: Paces = WITH_SPEED,
) -> Recommended:
    """The recommendation for *wanted*."""
    world = bundled()
    found = resolve_model(world, model)
    subject = Subject(found.architecture, found.checkpoint, found.spread, Named(model, found.id or model))
    return recommend(
        subject,
        workload or Inference(),
        wanted,
        on or shelf(world),
        world.calibration.serving,
        presets(),
        priced_on=DAY,
        paces=paces,
    )
