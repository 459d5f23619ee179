"""What a Transformers process holds, against the Qwen3 team's own table."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.calibration import calibration
from cardmatch.engine.memory.engines.transformers.options import AttentionImplementation, Transformers
from cardmatch.engine.memory.engines.transformers.reserve import reserve
from cardmatch.engine.memory.engines.transformers.reserves import TransformersReserves
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.checkpoint import plain, requantised
from cardmatch.engine.terms.units import MIB
from tests.engine.memory.architectures import QWEN3_4B, placement


def held(tokens: int, weights: str) -> int:
    """MiB that Qwen3-4B holds after *tokens*."""
    checkpoint = requantised(QWEN3_4B, plain(), weights)
    job, _ = settle(Inference(engine=Transformers(), context_tokens=tokens), QWEN3_4B, checkpoint)
    reserved = reserve(job, Transformers(), placement(95), calibration().serving).reserves
    assert isinstance(reserved, TransformersReserves)
    return reserved.held_bytes // MIB


@pytest.mark.parametrize(
    ("weights", "prompt", "measured"),
    [("bf16", 14336, 10012), ("bf16", 30720, 12317), ("fp8_block", 14336, 7297), ("fp8_block", 30720, 9611)],
)
def test_a_process_holds_weights_and_cache(weights: str, prompt: int, measured: int) -> None:
    """Qwen3-4B on an H20, 2,048 tokens generated (Qwen3 speed benchmark): within 1 %."""
    assert held(prompt + 2048, weights) == pytest.approx(measured, rel=0.01)


def test_eager_attention_writes_out_its_scores() -> None:
    """Without a fused kernel the prefill of a long prompt takes quadratic memory."""
    job, _ = settle(Inference(engine=Transformers(), context_tokens=16384), QWEN3_4B, plain())
    fused, eager = (
        reserve(
            job, Transformers(attn_implementation=kind, prompt_tokens=16384), placement(95), calibration().serving
        ).activations.expected_bytes
        for kind in (AttentionImplementation.SDPA, AttentionImplementation.EAGER)
    )
    assert eager > fused + 16384**2 * 32 * 2
