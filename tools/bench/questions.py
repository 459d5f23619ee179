"""The requests that are measured, each with its engine call alone and its whole answer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.answers.estimate import EstimateRequest, estimate_vram
from cardmatch.answers.model import resolve_model
from cardmatch.answers.placements import resolve_placements
from cardmatch.answers.recommend import RecommendRequest, named, recommendation
from cardmatch.answers.subjects import figures_of, shelf, topic_of
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.paced import paces_of
from cardmatch.engine.advice.recommend import Subject, recommend
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.money.cost import cost as reckon
from cardmatch.engine.money.offer import is_effective
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
    example = json.loads((EXAMPLES / "estimate-by-name.json").read_text())
    body = json.dumps({**example["request"]["body"], "cards": CARDS, "ways_to_fit": False}).encode()
    request = msgspec.json.decode(body, type=EstimateRequest)
    workload = msgspec.convert(example["request"]["body"]["workload"], Inference)
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
            model.architecture, model.checkpoint, workload, placements, calibration, spread=model.spread
        ),
        answer=lambda: estimate_vram(world, request, Language.EN, today),
        engine_mark=150.0,
    )


def _training() -> Question:
    """LoRA of 8B on the four cards of the guides, ways to fit left out."""
    work = {"kind": "training", "method": "lora"}
    body = json.dumps({"model": "llama 3.1 8b", "workload": work, "cards": CARDS, "ways_to_fit": False}).encode()
    request = msgspec.json.decode(body, type=EstimateRequest)
    workload, world = msgspec.convert(work, Training), bundled()
    model, placements = resolve_model(world, request.model), resolve_placements(world, request.cards)
    calibration = world.calibration.training
    return Question(
        name="training over four cards",
        path="/estimate-vram",
        body=body,
        engine=lambda: estimate_training(model.architecture, model.checkpoint, workload, placements, calibration),
        answer=lambda: estimate_vram(world, request, Language.EN, TODAY),
        engine_mark=300.0,
    )


def _cost(points: int = 0) -> Question:
    """Ten offers of the catalogue for one job; with *points*, as a sweep over the job's size too."""
    world = bundled()
    priced = [offer.id for offer in world.offers.values() if offer.usd_per_hour and is_effective(offer, TODAY)]
    options = [
        {
            "label": offer,
            "price": {"kind": "offer", "offer": offer},
            "throughput": {"kind": "measured", "units_per_second": 1000.0 + place},
        }
        for place, offer in enumerate(priced[:: len(priced) // 10][:10])
    ]
    work = {"kind": "job", "unit": "token", "units": 1e9, "prompt_tokens": 1000, "output_tokens": 300}
    body = {"options": options, "work": work, "data": {"out_gb": 140}, "priced_on": TODAY.isoformat()}
    if points:
        body["sweep"] = {"parameter": "units", "values": [1e8 * (step + 1) for step in range(points)]}
    raw = json.dumps(body).encode()
    request = msgspec.json.decode(raw, type=CostRequest)
    return Question(
        name=f"cost, a sweep of {points} points" if points else "cost of ten options",
        path="/cost",
        body=raw,
        engine=lambda: reckon(
            request,
            offers=world.offers,
            providers=world.providers,
            ownership=world.ownership,
            ownership_costs=world.ownership_costs,
            priced_on=TODAY,
        ),
        answer=lambda: cost(world, request, Language.EN, TODAY),
        engine_mark=5000.0 if points else 300.0,
    )


def _recommend(name: str, asked_for: str = "llama 3.1 8b", **asked: Any) -> Question:
    """A model served, over the whole catalogue."""
    body = json.dumps({"model": asked_for, "priced_on": TODAY.isoformat(), **asked}).encode()
    request, world = msgspec.json.decode(body, type=RecommendRequest), bundled()
    model = resolve_model(world, request.model)
    subject = Subject(model.architecture, model.checkpoint, model.spread, Named(asked_for, model.id or ""))
    wanted, sold, calibration = named(world, request), shelf(world), world.calibration.serving

    def engine() -> object:
        paces = paces_of(world.calibration.speed, presets().network, exact_model=True)
        workload = Inference()
        return recommend(subject, workload, wanted, sold, calibration, presets(), priced_on=TODAY, paces=paces)

    return Question(
        name=name,
        path="/recommend",
        body=body,
        engine=engine,
        answer=lambda: recommendation(world, request, Language.EN, TODAY),
        engine_mark=20_000.0,
    )


def _items(name: str, asked: dict[str, Any]) -> Question:
    """Pictures or texts, over the whole catalogue."""
    body = json.dumps({**asked, "priced_on": TODAY.isoformat()}).encode()
    request, world = msgspec.json.decode(body, type=RecommendRequest), bundled()
    topic, wanted = topic_of(world, request.model, request.workload), named(world, request)
    return Question(
        name=f"{name} over the catalogue",
        path="/recommend",
        body=body,
        engine=lambda: figures_of(world, topic, wanted.workload, wanted, TODAY),
        answer=lambda: recommendation(world, request, Language.EN, TODAY),
        engine_mark=20_000.0,
    )


TODAY = dt.date(2026, 12, 1)
ESTIMATE = _estimate()
TRAINING = _training()
COST = _cost()
SWEEP = _cost(points=50)
PICTURES = _items(
    "pictures",
    {"model": "sdxl", "workload": {"kind": "diffusion"}, "job": {"images": 50_000, "deadline_hours": 10}},
)
TEXTS = _items("texts", {"model": "bge-m3", "workload": {"kind": "encode"}, "load": {"items_per_second": 200}})
LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}
RECOMMENDATIONS = (
    _recommend("recommend over the catalogue", load={**LENGTHS, "requests_per_day": 10_000}),
    _recommend("recommend, 500 requests at once", load={**LENGTHS, "concurrency": 500}),
    _recommend("recommend, a p95 target", load={**LENGTHS, "requests_per_second": 5, "p95_latency_seconds": 10}),
    _recommend("recommend, a job", load=LENGTHS, job={"items": 1_000_000}),
    _recommend(
        "recommend, 70B", "llama 3.1 70b", load={"prompt_tokens": 7500, "output_tokens": 500, "concurrency": 32}
    ),
)
