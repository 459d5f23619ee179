"""Models and cards of the training tests, from their published configurations and datasheets."""

from __future__ import annotations

from typing import Any

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.settle import settle
from cardmatch.engine.memory.training.workload import Training
from cardmatch.engine.models.architecture import Architecture, Attention, Dense, LayerGroup
from cardmatch.engine.models.checkpoint import plain
from cardmatch.engine.terms.units import GIB, MIB
from tests.engine.memory.architectures import dense

LLAMA_2_7B = dense(layers=32, hidden=4096, heads=(32, 32, 128), width=11008, vocabulary=32000, context=4096)
LLAMA_3_2_3B = dense(
    layers=28, hidden=3072, heads=(24, 8, 128), width=8192, vocabulary=128256, context=131072, tied=True
)


def gpt(hidden: int, heads: int, layers: int = 1) -> Architecture:
    """A GPT block as Korthikanti et al. count it: multi-head attention, four times wider feed-forward, no gate."""
    block = (
        Attention(query_heads=heads, kv_heads=heads, head_size=hidden // heads),
        Dense(width=4 * hidden, gated=False),
    )
    return Architecture(
        family="gpt2",
        hidden_size=hidden,
        vocabulary_size=50257,
        layer_groups=(LayerGroup(blocks=block),),
        layer_order=(0,) * layers,
        maximum_context_tokens=2048,
    )


def workload(method: str, **fields: Any) -> Training:
    """A training workload."""
    return msgspec.convert({"kind": "training", "method": method, **fields}, Training)


def job(architecture: Architecture, method: str, **fields: Any) -> TrainingJob:
    """The settled job of a bf16 checkpoint."""
    return settle(workload(method, **fields), architecture, plain())[0]


def device(card: str, visible: int) -> Device:
    """A card with the bytes that CUDA reports."""
    return Device(
        card=card, physical_bytes=visible, memory_bytes=visible, memory_low_bytes=visible, memory_high_bytes=visible
    )


RTX_4090 = device("rtx-4090", 24080 * MIB)
A100_80 = device("a100-sxm-80", round(79.15 * GIB))


def on(card: Device, count: int = 1, **layout: int) -> Placement:
    """Cards joined by data parallelism unless the layout says otherwise."""
    spread = {"data": count} | layout
    return Placement(device=card, count=count, layout=Layout(**spread))
