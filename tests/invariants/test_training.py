"""What holds of every model of the catalogue and every way to train it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cardmatch.catalogue.world import bundled
from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.placement import Device, Placement
from cardmatch.engine.memory.training.answer import TrainingPlacement
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.training.frameworks import Framework, Kernels
from cardmatch.engine.memory.training.recipes import OptimizerName, Precision
from cardmatch.engine.memory.training.workload import AttentionKernel, Checkpointing, Sharding, Training
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.units import GIB

WORLD = bundled()
MODELS = sorted(WORLD.models)
CARD = Device(
    card=None, physical_bytes=80 * GIB, memory_bytes=80 * GIB, memory_low_bytes=80 * GIB, memory_high_bytes=80 * GIB
)


def place(model: str, fields: dict[str, Any], count: int = 1) -> TrainingPlacement:
    """The estimate of *model* on so many 80 GiB cards."""
    row = WORLD.models[model]
    asked = msgspec.convert({"kind": "training", **fields}, Training)
    where = Placement(device=CARD, count=count, layout=Layout(data=count))
    known = WORLD.calibration.training
    return estimate_training(row.architecture, row.checkpoint, asked, (where,), known).placements[0]


def _consistent(found: TrainingPlacement, micro_batch: int, sequence_tokens: int) -> None:
    on, phases = found.per_gpu, found.phases
    parts = (on.weights_bytes, on.gradients_bytes, on.optimizer_bytes, on.activations_bytes, on.overhead_bytes)
    assert min(parts) >= 0
    assert sum(parts) == on.total.expected_bytes
    assert on.total.low_bytes <= on.total.expected_bytes <= on.total.high_bytes
    assert max(phase.allocated_bytes for phase in phases) == pytest.approx(found.peaks.allocated.expected_bytes, abs=9)
    runs = found.verdict is not Verdict.DOES_NOT_FIT
    assert runs == (micro_batch <= found.max_micro_batch)
    assert runs == (sequence_tokens <= found.max_sequence_tokens)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_can_be_trained(model: str) -> None:
    """Full, LoRA and QLoRA on one card and on eight; the sums add up and sharding never takes more states."""
    for method in ("full", "lora", "qlora"):
        alone, shared = (place(model, {"method": method}, count) for count in (1, 8))
        tokens = min(2048, WORLD.models[model].architecture.maximum_context_tokens or 2048)
        _consistent(alone, 1, tokens)
        _consistent(shared, 1, tokens)
        assert shared.per_gpu.optimizer_bytes <= alone.per_gpu.optimizer_bytes


@pytest.mark.parametrize("model", MODELS)
def test_full_training_takes_at_least_eight_bytes_a_parameter(model: str) -> None:
    """Pure 16-bit AdamW: weights, gradients and two states of two bytes each."""
    step = next(phase for phase in place(model, {"method": "full"}).phases if phase.phase == "step")
    assert step.allocated_bytes >= 0.999 * 8 * parameters(WORLD.models[model].architecture).total


requests = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["full", "lora", "qlora"]),
        "framework": st.sampled_from([None, *Framework]),
        "precision": st.sampled_from([None, *Precision]),
        "optimizer": st.sampled_from([None, *OptimizerName]),
        "gradient_checkpointing": st.sampled_from([None, *Checkpointing]),
        "attention": st.sampled_from([None, *AttentionKernel]),
        "kernels": st.sampled_from([None, *Kernels]),
        "fused_loss": st.sampled_from([None, False, True]),
        "packing": st.sampled_from([None, False, True]),
        "sharding": st.sampled_from([None, *Sharding]),
        "sequence_tokens": st.integers(1, 65_536),
        "micro_batch": st.integers(1, 64),
        "gradient_accumulation_steps": st.integers(1, 16),
        "offload": st.lists(st.sampled_from(["parameters", "activations"]), unique=True, max_size=2),
    }
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(MODELS), requests, st.sampled_from([2, 8, 64]))
def test_any_request_is_answered_consistently(model: str, fields: dict[str, Any], count: int) -> None:
    """Whatever is combined: parts add up, and the inverse answers agree with the verdict."""
    found = place(model, fields, count)
    if not fields["offload"]:  # host memory is unknown, and offloaded jobs are tight at best
        _consistent(found, fields["micro_batch"], fields["sequence_tokens"])


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(MODELS), requests)
def test_more_tokens_never_take_less(model: str, fields: dict[str, Any]) -> None:
    """Twice the micro-batch, twice the length: at least as much."""
    peaks = [
        place(model, fields | more, 8).peaks.allocated.expected_bytes
        for more in ({}, {"micro_batch": 2 * fields["micro_batch"]}, {"sequence_tokens": 2 * fields["sequence_tokens"]})
    ]
    assert peaks[0] <= min(peaks[1:])
