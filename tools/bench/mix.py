"""Requests drawn at random, as a server gets them: hardly two alike, so that nothing remembered answers for them."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import msgspec

from cardmatch.answers.estimate import EstimateRequest
from cardmatch.answers.model import resolve_model
from cardmatch.answers.placements import resolve_placements
from cardmatch.catalogue.world import World, bundled
from cardmatch.engine.memory.estimate import estimate_serving
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.money.cost import cost as reckon
from cardmatch.engine.money.offer import is_effective
from cardmatch.engine.money.question import CostQuestion

SEED = 20261201
ESTIMATES, COSTS = 10_000, 2_000
TODAY = dt.date(2026, 12, 1)
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct", "llama 3.1 8b", "Qwen/Qwen2.5-7B-Instruct", "qwen2.5 14b instruct",
    "Qwen/Qwen3-32B", "Qwen/Qwen3-30B-A3B", "mistral 7b", "mixtral", "microsoft/phi-4",
    "meta-llama/Llama-3.3-70B-Instruct",
)  # fmt: skip
CARDS = (
    "rtx-3090", "rtx-4090", "rtx-5090", "l4", "l40s", "a100-sxm-40", "a100-sxm-80", "h100-sxm-80", "h200-sxm",
)  # fmt: skip
LANGUAGES = ("en", "es", "zh")


class Mix(msgspec.Struct, frozen=True):
    """Bodies for one path, and for each body the call of the engine that its answer takes."""

    name: str
    path: str
    engines: dict[bytes, Callable[[], object]]


@cache
def mixes() -> tuple[Mix, ...]:
    """The mixes that are measured, the same in every process."""
    world = bundled()
    return _estimates(world), _costs(world)


def _estimates(world: World) -> Mix:
    """Estimates over four cards of a catalogue model, for any context, concurrency and language."""
    draw = random.Random(SEED)
    bodies = [
        {
            "model": draw.choice(MODELS),
            "workload": {
                "kind": "inference",
                "engine": {"kind": "vllm"},
                "context_tokens": 256 * draw.randint(1, 128),
                "concurrency": draw.randint(1, 64),
            },
            "cards": draw.sample(CARDS, 4),
            "ways_to_fit": False,
            "language": draw.choice(LANGUAGES),
            "priced_on": TODAY.isoformat(),
        }
        for _ in range(ESTIMATES)
    ]
    return Mix("estimate over four cards", "/estimate-vram", {_raw(body): _estimate(world, body) for body in bodies})


def _estimate(world: World, body: dict[str, Any]) -> Callable[[], object]:
    request = msgspec.convert(body, EstimateRequest)
    model = resolve_model(world, request.model)
    return partial(
        estimate_serving,
        model.architecture,
        model.checkpoint,
        msgspec.convert(body["workload"], Inference),
        resolve_placements(world, request.cards),
        world.calibration.serving,
        spread=model.spread,
        model=model.repository,
        published=model.published,
    )


def _costs(world: World) -> Mix:
    """A job on ten offers of the catalogue, of any size and with any rates."""
    draw = random.Random(SEED)
    priced = [offer.id for offer in world.offers.values() if offer.usd_per_hour and is_effective(offer, TODAY)]
    bodies = [
        {
            "options": [
                {
                    "label": offer,
                    "price": {"kind": "offer", "offer": offer},
                    "throughput": {"kind": "measured", "units_per_second": float(draw.randint(100, 10_000))},
                }
                for offer in draw.sample(priced, 10)
            ],
            "work": {"kind": "job", "unit": "token", "units": 1e6 * draw.randint(10, 100_000), "prompt_tokens": 1000,
                     "output_tokens": 300},
            "data": {"out_gb": draw.randint(1, 500)},
            "priced_on": TODAY.isoformat(),
        }
        for _ in range(COSTS)
    ]  # fmt: skip
    return Mix("cost of ten options", "/cost", {_raw(body): _cost(world, body) for body in bodies})


def _cost(world: World, body: dict[str, Any]) -> Callable[[], object]:
    question = msgspec.convert({name: value for name, value in body.items() if name != "priced_on"}, CostQuestion)
    return partial(
        reckon,
        question,
        offers=world.offers,
        providers=world.providers,
        ownership=world.ownership,
        ownership_costs=world.ownership_costs,
        priced_on=TODAY,
    )


def _raw(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()
