"""The largest micro-batch and the longest sequence are the last that run."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.memory.training.estimate import estimate_training
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.models.checkpoint import plain
from tests.engine.memory.architectures import LLAMA_8B
from tests.engine.memory.training.shapes import A100_80, RTX_4090, on, workload

KNOWN = calibration().training
CASES: list[dict[str, Any]] = [
    {"method": "lora"},
    {"method": "full", "attention": "eager", "gradient_checkpointing": "none", "fused_loss": True, "micro_batch": 1},
    {"method": "qlora", "gradient_checkpointing": "selective", "packing": False},
    {"method": "full", "framework": "torchtitan"},
]


def _verdict(fields: dict[str, Any], **more: Any) -> Verdict:
    asked = workload(**(fields | more))
    return estimate_training(LLAMA_8B, plain(), asked, (on(A100_80, 4),), KNOWN).placements[0].verdict


@pytest.mark.parametrize("fields", CASES)
def test_the_largest_micro_batch_runs_and_the_next_does_not(fields: dict[str, Any]) -> None:
    """Asked again with the answer, the verdict is not `does_not_fit`; with one more it is."""
    fields = {"sequence_tokens": 512} | fields
    found = estimate_training(LLAMA_8B, plain(), workload(**fields), (on(A100_80, 4),), KNOWN).placements[0]
    assert found.max_micro_batch > 1
    assert _verdict(fields, micro_batch=found.max_micro_batch) is not Verdict.DOES_NOT_FIT
    assert _verdict(fields, micro_batch=found.max_micro_batch + 1) is Verdict.DOES_NOT_FIT


@pytest.mark.parametrize("fields", CASES)
def test_the_longest_sequence_runs_and_the_next_does_not(fields: dict[str, Any]) -> None:
    """The same for the length, up to the model's own limit."""
    found = estimate_training(LLAMA_8B, plain(), workload(**fields), (on(A100_80, 4),), KNOWN).placements[0]
    longest = found.max_sequence_tokens
    assert longest > 1
    assert _verdict(fields, sequence_tokens=longest) is not Verdict.DOES_NOT_FIT
    if longest < 131072:
        assert _verdict(fields, sequence_tokens=longest + 1) is Verdict.DOES_NOT_FIT


def test_nothing_runs_where_the_states_alone_do_not_fit() -> None:
    """Full training of 8 billion parameters on 24 GB: no micro-batch is small enough."""
    found = estimate_training(LLAMA_8B, plain(), workload("full"), (on(RTX_4090),), KNOWN).placements[0]
    assert (found.max_micro_batch, found.max_sequence_tokens) == (0, 0)


def test_context_ranks_make_sequences_longer() -> None:
    """Two ranks that share a sequence hold twice the tokens."""
    alone, shared = (
        estimate_training(
            LLAMA_8B, plain(), workload("lora", context_parallel=ranks), (on(A100_80, 4),), KNOWN
        ).placements[0]
        for ranks in (1, 2)
    )
    assert shared.max_sequence_tokens == pytest.approx(2 * alone.max_sequence_tokens, abs=4)
