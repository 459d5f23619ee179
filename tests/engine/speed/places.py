"""Models and chips that the tests of speed share, from the bundled catalogue."""

from __future__ import annotations

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.card import mig_profile
from cardmatch.engine.hardware.layout import SINGLE, Layout
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.speed.chip import Chip, chip_of
from cardmatch.engine.speed.pace import EngineKind
from cardmatch.engine.speed.serving import Seat
from cardmatch.engine.speed.shape import Shape, shape_of

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
QWEN_30B = "Qwen/Qwen3-30B-A3B"


def shape(model: str = LLAMA_8B, weights: str = "as_published") -> Shape:
    """The shape of a catalogue model."""
    row = bundled().models[model]
    job, _ = settle(Inference(weights=weights), row.architecture, row.checkpoint)
    return shape_of(job)


def chip(card: str, mig: str | None = None) -> Chip:
    """A card of the catalogue, or a slice of it."""
    found = bundled().cards[card]
    return chip_of(found, mig_profile(found, mig) if mig else None)


def seat(
    card: str,
    *,
    layout: Layout = SINGLE,
    slots: float = 128,
    engine: EngineKind = EngineKind.VLLM,
    mig: str | None = None,
) -> Seat:
    """A seat on *card*."""
    return Seat(engine=engine, chip=chip(card, mig), layout=layout, slots=slots)
